"""Brokers of the sink's simulation: transactional ids, the group's record, visible rows.

    Ongoing ─ EndTxn, timeout ─► PrepareCommit, -Abort ─ later ─► CompleteCommit, -Abort

The answers are those that Kafka 4.3 gave in a run (docs/exactly-once-sink.md): EndTxn up to
version 4 (transaction version 1) and 5 (version 2), repeated, after a timeout and after another
producer. An end is answered when it is decided; rows and offsets become visible later. An id
without an open transaction expires, and the next producer with its name has another producer id.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import (
    InvalidProducerIdMappingError,
    ProducerFencedError,
    RequestTimedOutError,
)
from cordwood.spark.sink.exactly_once.sink_requests import (
    CountPartitions,
    Describe,
    End,
    Ended,
    EndResult,
    Fence,
    IdState,
    ListOpen,
    Now,
    ReadRecord,
    SinkRequest,
    WriteRecord,
)

EMPTY: Final = "Empty"
ONGOING: Final = "Ongoing"
_PREPARED: Final = {True: "PrepareCommit", False: "PrepareAbort"}
_COMPLETE: Final = {True: "CompleteCommit", False: "CompleteAbort"}
_BUMPS: Final = 2
#: `transactional.id.expiration.ms`: seven days.
EXPIRATION_MS: Final = 604_800_000
_SOON: Final = 0.5
_MUCH_LATER: Final = 0.1


class TryAgainError(Exception):
    """A retriable answer: CONCURRENT_TRANSACTIONS, UNSTABLE_OFFSET_COMMIT."""


class Violation(AssertionError):  # noqa: N818  the noun of the tests
    """An invariant that does not hold."""

    def __init__(self, invariant: str, text: str) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant


class TransactionKey(NamedTuple):
    """One transaction of an id."""

    name: str
    producer_id: int
    epoch: int


@dataclass(slots=True)
class SimulatedId:
    """A transactional id and its latest transaction."""

    name: str
    producer_id: int
    timeout_ms: int
    epoch: int = 0
    state: str = EMPTY
    start_ms: int | None = None
    rows: list[int] = field(default_factory=list)
    parts: dict[int, str] | None = None
    #: The epoch that the last ended transaction had.
    ended_epoch: int = -1
    is_timed_out: bool = False
    #: When the state changed last.
    updated_ms: int = 0

    @property
    def key(self) -> TransactionKey:
        """The transaction with the present epoch."""
        return TransactionKey(self.name, self.producer_id, self.epoch)


#: Called when rows become visible: the transaction, and its rows.
Seen = Callable[[TransactionKey, list[int]], None]


class SimulatedBrokers:
    """All coordinators and partitions, with one clock."""

    def __init__(
        self,
        random: Random,
        *,
        on_visible: Seen,
        on_record: Callable[[], None],
        on_abort: Callable[[TransactionKey], None],
    ) -> None:
        self.random = random
        self.version = random.choice((1, 2))
        self.can_list = random.random() < 0.9
        self.now_ms = 1_000_000
        self.ids: dict[str, SimulatedId] = {}
        self.record: dict[int, str] = {}
        #: Offsets whose transaction is committed, and that readers do not see yet.
        self.staged: dict[int, str] | None = None
        self.counts: Counter[str] = Counter()
        self._seen = on_visible
        self._on_record = on_record
        self._on_abort = on_abort
        #: Later events, each with its chance in a step.
        self._late: list[tuple[float, Callable[[], object]]] = []
        self._producer_ids = 4_000

    # -- requests

    def perform(self, request: SinkRequest[object]) -> object:
        """Answer a request of the protocol."""
        answers: dict[type, Callable[[], object]] = {
            CountPartitions: lambda: 1,
            Now: lambda: self.now_ms,
            ListOpen: lambda: self._listed() if self.can_list else None,
            ReadRecord: self.read_record,
        }
        match request:
            case Fence():
                return self.fence(request.transactional_id, request.timeout_ms)
            case WriteRecord():
                self.write_record(request)
                return None
            case End():
                return {each: self.end(each, commit=request.commit) for each in request.handles}
            case Describe():
                return self._described(request.transactional_ids) if self.can_list else None
        return answers[type(request)]()

    def fence(self, name: str, timeout_ms: int) -> TransactionHandle:
        """Answer InitProducerId without an identity."""
        each = self.ids.get(name)
        if each is None:
            self._producer_ids += 1
            each = self.ids[name] = SimulatedId(name, self._producer_ids, timeout_ms)
            each.updated_ms = self.now_ms
            return self._handle(each)
        if each.state == ONGOING:
            self.counts["open transaction fenced"] += 1
            self._prepare(each, commit=False)
            each.epoch += 1
        if each.state in _PREPARED.values():
            raise TryAgainError
        each.epoch += 1
        each.state, each.start_ms, each.timeout_ms = EMPTY, None, timeout_ms
        each.updated_ms = self.now_ms
        each.is_timed_out = False
        return self._handle(each)

    def produce(self, handle: TransactionHandle, rows: list[int]) -> None:
        """Append rows in the transaction of a producer."""
        self._begin(handle).rows += rows

    def write_record(self, request: WriteRecord) -> None:
        """Answer TxnOffsetCommit."""
        each = self._begin(request.driver)
        each.parts = dict(enumerate(request.parts))

    def read_record(self) -> Mapping[int, str]:
        """Answer OffsetFetch with `require_stable`."""
        if self.staged is not None or any(each.parts is not None for each in self.ids.values()):
            self.counts["unstable record"] += 1
            raise TryAgainError
        return dict(self.record)

    def end(self, handle: TransactionHandle, *, commit: bool) -> Ended:
        """Answer EndTxn of the handle's version."""
        each = self.ids.get(handle.transactional_id)
        if each is None or each.producer_id != handle.producer_id:
            return Ended(EndResult.UNKNOWN_ID, handle)
        is_bumped = handle.transaction_version >= _BUMPS
        if each.state == ONGOING and each.epoch == handle.epoch:
            each.ended_epoch = each.epoch
            self._prepare(each, commit=commit)
            return Ended(EndResult.ENDED, self._next(handle))
        is_ended = each.ended_epoch == handle.epoch and each.epoch - handle.epoch <= is_bumped
        if is_ended and each.state in (_PREPARED[commit], _COMPLETE[commit]):
            self.counts["end repeated"] += 1
            return Ended(EndResult.ENDED, self._next(handle))
        if is_ended or each.epoch == handle.epoch:
            return Ended(EndResult.INVALID_STATE, handle)
        if each.is_timed_out and is_bumped and each.epoch == handle.epoch + 1:
            result = EndResult.INVALID_STATE if commit else EndResult.ENDED
            return Ended(result, self._next(handle))
        return Ended(EndResult.FENCED, handle)

    def _begin(self, handle: TransactionHandle) -> SimulatedId:
        """Return the id of a producer with an open transaction; the producer's error otherwise."""
        each = self.ids.get(handle.transactional_id)
        if each is None:
            raise InvalidProducerIdMappingError(f"{handle.transactional_id}: expired")
        if (each.producer_id, each.epoch) != (handle.producer_id, handle.epoch):
            raise ProducerFencedError(f"{handle.transactional_id}: fenced")
        if each.state in _PREPARED.values():
            raise TryAgainError
        if each.state != ONGOING:
            each.state, each.start_ms, each.rows = ONGOING, self.now_ms, []
            each.is_timed_out = False
        return each

    def _listed(self) -> tuple[str, ...]:
        return tuple(sorted(self.open_ids()))

    def _described(self, names: tuple[str, ...]) -> dict[str, IdState]:
        return {
            name: IdState(each.state, each.producer_id, each.epoch, each.start_ms)
            for name in names
            if (each := self.ids.get(name)) is not None
        }

    def open_ids(self) -> Iterator[str]:
        """Yield the ids with an open transaction."""
        return (name for name, each in self.ids.items() if each.state == ONGOING)

    def _handle(self, each: SimulatedId) -> TransactionHandle:
        return TransactionHandle(each.name, each.producer_id, each.epoch, self.version)

    def _next(self, handle: TransactionHandle) -> TransactionHandle:
        bump = handle.transaction_version >= _BUMPS
        return handle._replace(epoch=handle.epoch + bump)

    # -- the course of time

    def _prepare(self, each: SimulatedId, *, commit: bool) -> None:
        """Decide the end of a transaction."""
        key, each.state = each.key, _PREPARED[commit]
        if commit and each.parts is not None:
            self.staged = each.parts
            self._on_record()
        each.parts = None
        if not commit and not each.is_timed_out:
            self._on_abort(key)
        if self.version >= _BUMPS and not each.is_timed_out:
            each.epoch += 1
        self._late.append((_SOON, lambda: self._complete(each, key, commit=commit)))

    def _complete(self, each: SimulatedId, key: TransactionKey, *, commit: bool) -> None:
        """Write the markers."""
        each.state, each.updated_ms = _COMPLETE[commit], self.now_ms
        rows, each.rows = each.rows, []
        if commit and rows:
            self._seen(key, rows)
        if commit and self.staged is not None and each.name.endswith("-driver"):
            self._late.append((_SOON, self._apply_offsets))

    def _apply_offsets(self) -> None:
        if self.staged is not None:
            self.record, self.staged = self.staged, None

    def later(self, call: Callable[[], object]) -> None:
        """Let a request arrive late."""
        self._late.append((_MUCH_LATER, call))

    def advance(self, elapsed_ms: int) -> None:
        """Let time pass: markers are written, transactions time out, late requests arrive."""
        self.now_ms += elapsed_ms
        for each in list(self.ids.values()):
            if each.state == ONGOING and self.now_ms - (each.start_ms or 0) > each.timeout_ms:
                self.counts["timeout"] += 1
                each.is_timed_out = True
                self._prepare(each, commit=False)
                each.epoch += 1
        pending, self._late = self._late, []
        for chance, call in pending:
            if elapsed_ms < 1_000 and self.random.random() > chance:
                self._late.append((chance, call))
            else:
                self._arrive(call)
        self._expire_ids()

    def _expire_ids(self) -> None:
        """Forget ids that were not used for too long; open and ending transactions stay."""
        settled = {EMPTY, *_COMPLETE.values()}
        for name, each in list(self.ids.items()):
            if each.state in settled and self.now_ms - each.updated_ms > EXPIRATION_MS:
                self.counts["id expired"] += 1
                del self.ids[name]

    def settle(self) -> None:
        """Write all markers."""
        while self._late:
            self.advance(1_000)

    def _arrive(self, call: Callable[[], object]) -> None:
        try:
            call()
        except (
            TryAgainError,
            InvalidProducerIdMappingError,
            ProducerFencedError,
            RequestTimedOutError,
        ):
            self.counts["late request rejected"] += 1
