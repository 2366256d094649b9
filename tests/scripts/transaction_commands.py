"""Commands of the family `transactions`: the coordinator of one partition, without its runtime.

The log takes each record at once, unless `reject` is set. The outcome of a request is its answer,
then the markers that are to be written now, then the state of the transactional id. `complete`
stands for the leaders of all partitions of a transaction, which have written its marker.
"""

from collections.abc import Mapping
from typing import Final

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.transactions.transaction_listing import ListFilters, TransactionPage
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_state import STATES_BY_NAME
from cordwood.core.errors import error_from_code
from cordwood.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from tests.scripts.transcript import error_name
from tests.unit.coordination.transaction_samples import (
    NOW,
    Producer,
    TransactionHarness,
    metadata,
    tp,
)

_NEWEST: Final[Mapping[str, int]] = {"init": 5, "add": 5, "offsets": 4, "end": 5}


class TransactionCommands:
    """A shard of `__transaction_state`; its coordinator epoch is 3, and rises with each load."""

    def __init__(self) -> None:
        self._harness = TransactionHarness()
        self._seen_markers = 0

    # -- the coordinator

    def level(self, level: int) -> None:
        """Set the finalized level of `transaction.version`."""
        self._harness.settings = TransactionSettings(transaction_version=level)
        self._harness.reload()

    def put(
        self,
        transactional_id: str,
        *partitions: str,
        state: str,
        producer: int = 1,
        epoch: int = 5,
        version: int = 2,
    ) -> str:
        """Load a record of an id, as an earlier coordinator has written it."""
        found = metadata(STATES_BY_NAME[state], (producer, epoch))._replace(
            transactional_id=transactional_id,
            client_version=version,
            partitions=frozenset(map(tp, partitions)),
        )
        self._harness.put(found)
        self._seen_markers = 0
        return self._outcome(transactional_id)

    def producer_ids(self, first: int) -> None:
        """Set the producer id that is allocated next."""
        self._harness.next_producer_id = first

    def fail_allocation(self, code: int) -> None:
        """Fail the allocation of producer ids; 0 allows it again."""
        self._harness.allocation_error = error_from_code(code) if code else None

    def reject(self, code: int) -> None:
        """Reject all appends with an error."""
        self._harness.rejection = error_from_code(code)

    def accept(self) -> None:
        """Accept appends again."""
        self._harness.rejection = None

    def reload(self, *transactional_ids: str) -> str:
        """Load the shard again from the log, as after a kill or a change of the leader."""
        self._harness.reload()
        self._seen_markers = 0
        return self._outcome(*transactional_ids)

    def time(self, time: int, *transactional_ids: str) -> str:
        """Advance the time; timers fire."""
        self._harness.advance(time)
        return self._outcome(*transactional_ids)

    def complete(self, transactional_id: str) -> str:
        """Write the markers of an id's transaction."""
        self._harness.complete(transactional_id)
        self._seen_markers = len(self._harness.markers)
        return self._outcome(transactional_id)

    # -- requests

    def init(
        self,
        transactional_id: str = "",
        *,
        timeout: int = 60_000,
        producer: int = -1,
        epoch: int = -1,
        version: int = _NEWEST["init"],
    ) -> str:
        """Send InitProducerId; `producer` and `epoch` are those of a producer that continues."""
        found = self._harness.init(
            transactional_id, expected=(producer, epoch), timeout_ms=timeout, version=version
        )
        return self._outcome(transactional_id, first=_produced(found))

    def add(
        self,
        transactional_id: str,
        *partitions: str,
        producer: int = 0,
        epoch: int = 0,
        version: int = _NEWEST["add"],
    ) -> str:
        """Send AddPartitionsToTxn; up to version 3 a client sends it, then a leader."""
        codes = self._harness.add(
            (producer, epoch),
            *map(tp, partitions),
            transactional_id=transactional_id,
            version=version,
        )
        return self._outcome(transactional_id, first=_coded(partitions, codes))

    def verify(
        self, transactional_id: str, *partitions: str, producer: int = 0, epoch: int = 0
    ) -> str:
        """Send AddPartitionsToTxn as a leader that only verifies."""
        codes = self._harness.add(
            (producer, epoch),
            *map(tp, partitions),
            transactional_id=transactional_id,
            verify=True,
        )
        return _coded(partitions, codes)

    def offsets(
        self,
        transactional_id: str,
        *,
        group: str,
        producer: int = 0,
        epoch: int = 0,
        version: int = _NEWEST["offsets"],
    ) -> str:
        """Send AddOffsetsToTxn; `__consumer_offsets` has 50 partitions."""
        code = self._harness.add_offsets(
            (producer, epoch), group=group, transactional_id=transactional_id, version=version
        )
        return self._outcome(transactional_id, first=_code(code))

    def commit(
        self,
        transactional_id: str = "",
        *,
        producer: int = 0,
        epoch: int = 0,
        version: int = _NEWEST["end"],
    ) -> str:
        """Send EndTxn with the result commit."""
        found = self._harness.end(
            (producer, epoch), commit=True, transactional_id=transactional_id, version=version
        )
        return self._outcome(transactional_id, first=_produced(found))

    def abort(
        self,
        transactional_id: str = "",
        *,
        producer: int = 0,
        epoch: int = 0,
        version: int = _NEWEST["end"],
    ) -> str:
        """Send EndTxn with the result abort."""
        found = self._harness.end(
            (producer, epoch), commit=False, transactional_id=transactional_id, version=version
        )
        return self._outcome(transactional_id, first=_produced(found))

    def describe(self, *transactional_ids: str) -> str:
        """Send DescribeTransactions."""
        response = self._harness.describe(*(transactional_ids or ("",)))
        return "\n".join(
            error_name(error_from_code(each.error_code))
            if each.error_code
            else f"{each.transactional_id}: {each.transaction_state}, producer {each.producer_id} "
            f"epoch {each.producer_epoch}, timeout {each.transaction_timeout_ms} ms, "
            f"started {_ago(each.transaction_start_time_ms)}\n  "
            + (
                " ".join(f"{topic.topic}-{topic.partitions}" for topic in each.topics)
                or "no topics"
            )
            for each in response.transaction_states
        )

    def list(self, *states: str, producer: int = -1, duration: int = -1, prefix: str = "") -> str:
        """Send ListTransactions; a prefix stands for a pattern."""
        request = ListTransactionsRequest(
            state_filters=[*states],
            producer_id_filters=[] if producer < 0 else [producer],
            duration_filter=duration,
        )
        filters = ListFilters.of(request, matches_id=lambda each: each.startswith(prefix))
        shard = self._harness.shard
        page = TransactionPage(filters, shard.transactional_ids())
        response = self._harness.answer(
            lambda ticket: shard.list_transactions(
                request, ClientContext(2), ticket=ticket, now_ms=self._harness.now_ms, page=page
            )
        )
        assert isinstance(response, ListTransactionsResponse)
        lines = [
            f"{each.transactional_id}: {each.transaction_state}, producer {each.producer_id}"
            for each in response.transaction_states
        ] or ["none"]
        unknown = response.unknown_state_filters
        return "\n".join((*lines, *(f"unknown state {each}" for each in unknown)))

    def state(self, *transactional_ids: str) -> str:
        """Print the states of ids."""
        return "\n".join(map(self._state, transactional_ids))

    def bytes(self) -> str:
        """Print the last record of the log, 32 bytes a line."""
        key, value = self._harness.log[-1]
        if value is None:
            return f"key   {key.hex()}\ntombstone"
        text = value.hex()
        lines = [text[at : at + 64] for at in range(0, len(text), 64)]
        return f"key   {key.hex()}\nvalue " + "\n      ".join(lines)

    # -- outcomes

    def _outcome(self, *transactional_ids: str, first: str = "") -> str:
        """Return the first line, then new markers, then the states of the ids."""
        markers = self._harness.markers[self._seen_markers :]
        self._seen_markers = len(self._harness.markers)
        lines = [first]
        for transactional_id, marker in markers:
            names = " ".join(map(str, sorted(marker.partitions))) or "no partition"
            lines.append(
                f"{'COMMIT' if marker.is_commit else 'ABORT'} of {transactional_id}: "
                f"producer {marker.producer_id} epoch {marker.producer_epoch}, "
                f"version {marker.transaction_version}, coordinator {marker.coordinator_epoch}\n"
                f"  for {names}"
            )
        lines += [self._state(each) for each in transactional_ids if each]
        return "\n".join(line for line in lines if line)

    def _state(self, transactional_id: str) -> str:
        found = self._harness.shard.transactions.get(transactional_id)
        return f"{transactional_id}: unknown" if found is None else _described(found)


def _described(found: TransactionMetadata) -> str:
    parts = [
        f"{found.transactional_id}: {found.state.kafka_name}",
        f"producer {found.producer_id} epoch {found.producer_epoch}",
    ]
    if found.previous_producer_id != found.producer_id:
        parts.append(f"previous producer {found.previous_producer_id}")
    if found.next_producer_id >= 0:
        parts.append(f"next producer {found.next_producer_id}")
    if found.last_producer_epoch >= 0:
        parts.append(f"last epoch {found.last_producer_epoch}")
    parts += map(str, sorted(found.partitions))
    return ", ".join(parts)


def _produced(found: Producer) -> str:
    if found.code:
        return _code(found.code)
    if found.producer_id < 0:
        return "answer: success"
    return f"answer: producer {found.producer_id}, epoch {found.producer_epoch}"


def _code(code: int) -> str:
    return f"answer: {error_name(error_from_code(code)) if code else 'success'}"


def _coded(partitions: tuple[str, ...], codes: list[int]) -> str:
    """Return the results of partitions, as one if they are equal."""
    if len(set(codes)) <= 1:
        return _code(codes[0] if codes else 0)
    named = zip(partitions, codes, strict=True)
    return "\n".join(f"{name}: {_code(code)}" for name, code in named)


def _ago(at_ms: int) -> str:
    return "never" if at_ms < 0 else f"{(at_ms - NOW) / 1000:+.0f} s"
