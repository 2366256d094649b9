"""Idempotent and transactional producers of one log (Kafka: `ProducerStateManager`).

The order of the calls for an append:

    analyze    check the whole append; the state does not change
    (write)    the records
    apply      update the producers and open transactions
    complete   for each completed transaction, after its entry in the transaction index
    advance    move the map end offset

`analyze` makes two checks before those of `producer_append_info`:

    duplicate      a client's batch with exactly the sequences of a retained batch is not written
                   again; the answer has the offsets of the first write
    verification   a client or a coordinator opens a transaction only with the guard that
                   `start_verification` returned; an old epoch is rejected before that
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cordwood.core.errors import InvalidProducerEpochError, InvalidTxnStateError
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.producers.ongoing_transactions import CompletedTxn, OngoingTransactions
from cordwood.storage.producers.producer_append_info import (
    NO_CHANGES,
    DuplicateBatch,
    ProducerAppendInfo,
    ProducerChanges,
    old_epoch,
    producer_at,
)
from cordwood.storage.producers.producer_state_entry import (
    BatchMetadata,
    ProducedBatch,
    ProducerStateEntry,
)
from cordwood.storage.producers.verification_guard import (
    VerificationGuard,
    VerificationStateEntry,
    VerificationStates,
)

_VERIFIED: Final = frozenset({AppendOrigin.CLIENT, AppendOrigin.COORDINATOR})


def _ignore(*_: str) -> None:
    """Discard a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerStateManagerConfig:
    """The broker's values for all logs (Kafka: `ProducerStateManagerConfig`).

    A change replaces the whole object.
    """

    id_expiration_ms: int = 86_400_000
    is_verifying_transactions: bool = True
    # Read by the transaction coordinator, once there is one.
    max_transaction_timeout_ms: int = 900_000


class ProducerStateManager:
    """The producers of one log. The owner may replace `config` at any time."""

    __slots__ = ("_map_end_offset", "_producers", "_transactions", "_verifications", "config")

    def __init__(self, config: ProducerStateManagerConfig | None = None) -> None:
        self.config = config or ProducerStateManagerConfig()
        self._producers: dict[int, ProducerStateEntry] = {}
        self._transactions = OngoingTransactions()
        self._verifications = VerificationStates()
        self._map_end_offset = 0

    # -- state

    @property
    def producers(self) -> Mapping[int, ProducerStateEntry]:
        return MappingProxyType(self._producers)

    @property
    def map_end_offset(self) -> int:
        """The end of the part of the log that the state covers."""
        return self._map_end_offset

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is open or unreplicated."""
        return self._transactions.first_unstable_offset

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return self._transactions.first_undecided_offset

    @property
    def is_empty(self) -> bool:
        return not self._producers and not self._transactions.has_unreplicated

    # -- appending

    def start_verification(
        self,
        producer_id: int,
        *,
        sequence: int,
        epoch: int,
        now_ms: int,
        supports_epoch_bump: bool = False,
    ) -> VerificationGuard | None:
        """Return the guard for the append after verification; None if the transaction is open.

        Kafka: `ProducerStateManager.maybeCreateVerificationStateEntry`.
        """
        state = self._producers.get(producer_id, ProducerStateEntry(producer_id))
        if epoch < state.producer_epoch:
            raise InvalidProducerEpochError(
                f"producer {producer_id} has epoch {epoch}, below the last one seen, "
                f"{state.producer_epoch}"
            )
        if state.has_transaction_of(epoch):
            return None
        return self._verifications.start(
            producer_id,
            sequence=sequence,
            epoch=epoch,
            now_ms=now_ms,
            supports_epoch_bump=supports_epoch_bump,
        )

    def analyze(
        self,
        batches: Iterable[ProducedBatch],
        origin: AppendOrigin,
        *,
        guard: VerificationGuard | None = None,
        is_strict_on_markers: bool = False,
    ) -> ProducerChanges | DuplicateBatch:
        """Return the changes of an append, or raise; the state does not change either way.

        `is_strict_on_markers` is for transactions v2, where each marker raises the epoch.
        """
        append: ProducerAppendInfo | None = None
        for batch in batches:
            if not batch.header.has_producer_id:
                continue
            if origin is AppendOrigin.CLIENT and (found := self._find_duplicate(batch.header)):
                return DuplicateBatch(found.first_offset, found.last_offset, found.timestamp)
            append = append or ProducerAppendInfo(origin, is_strict_on_markers=is_strict_on_markers)
            self._add(append, batch, guard)
        return NO_CHANGES if append is None else append.changes()

    def apply(self, changes: ProducerChanges) -> None:
        """Apply the changes of an append whose records are written."""
        if changes is NO_CHANGES:
            return
        self._producers.update(changes.producers)
        for first_offset, producer_id in changes.started.items():
            self._transactions.start(producer_id, first_offset)
        for producer_id in changes.verified:
            self._verifications.clear(producer_id)

    def last_stable_offset_of(self, completed: CompletedTxn) -> int:
        """Return the value for the transaction index; to be called before `complete`."""
        return self._transactions.last_stable_offset_of(completed)

    def complete(self, completed: CompletedTxn) -> None:
        """Complete a transaction; an aborted one is in the transaction index by now."""
        self._transactions.complete(completed)

    def advance(self, end_offset: int) -> None:
        """Set the map end offset: everything below it is applied, with or without producers."""
        self._map_end_offset = end_offset

    def replay(
        self, batch: ProducedBatch, warn: Callable[..., object] = _ignore
    ) -> tuple[CompletedTxn, int] | None:
        """Apply one batch that is already in the log, even one that a leader would reject.

        Return the transaction that it completed, and the last stable offset after it. `warn`
        receives the reasons for which a leader would have rejected the batch.
        """
        changes = NO_CHANGES
        if batch.header.has_producer_id:
            append = ProducerAppendInfo(AppendOrigin.REPLICATION, is_written=True)
            self._add(append, batch, None)
            changes = append.changes()
            self.apply(changes)
            warn(*changes.warnings)
        self.advance(batch.header.next_offset)
        if not changes.completed:
            return None
        (completed,) = changes.completed
        stable = self.last_stable_offset_of(completed)
        self.complete(completed)
        return completed, stable

    # -- changes of the log

    def on_high_watermark(self, high_watermark: int) -> None:
        """Make the transactions with markers below the high watermark stable."""
        self._transactions.forget_below(high_watermark)

    def on_log_start(self, log_start_offset: int) -> None:
        """Follow the log start offset; producers stay, even without a batch left in the log."""
        self._transactions.forget_below(log_start_offset)
        self._map_end_offset = max(self._map_end_offset, log_start_offset)

    def expire(self, now_ms: int) -> int:
        """Remove idle producers and unfinished verifications; return the number of producers.

        Kafka: `ProducerStateManager.removeExpiredProducers`.
        """
        after_ms = self.config.id_expiration_ms
        old = [
            producer_id
            for producer_id, state in self._producers.items()
            if state.is_expired(now_ms, after_ms=after_ms)
        ]
        for producer_id in old:
            del self._producers[producer_id]
        self._verifications.expire(now_ms, after_ms=after_ms)
        return len(old)

    def clear(self, end_offset: int) -> None:
        """Remove all producers and transactions; the log continues at `end_offset`."""
        self._producers.clear()
        self._transactions.clear()
        self._map_end_offset = end_offset

    def take_over(self, rebuilt: "ProducerStateManager") -> None:
        """Replace producers and transactions by rebuilt ones; verifications under way stay."""
        self._producers = rebuilt._producers  # noqa: SLF001 - of the same class
        self._transactions = rebuilt._transactions  # noqa: SLF001 - as above
        self._map_end_offset = rebuilt._map_end_offset  # noqa: SLF001 - as above

    def load(self, states: Iterable[ProducerStateEntry], *, end_offset: int, now_ms: int) -> None:
        """Replace the state by a snapshot of `end_offset`, without expired producers."""
        self.clear(end_offset)
        after_ms = self.config.id_expiration_ms
        for state in states:
            if not state.is_expired(now_ms, after_ms=after_ms):
                self._producers[state.producer_id] = state
        opened = (state for state in self._producers.values() if state.has_transaction)
        for state in sorted(opened, key=lambda state: state.transaction_first_offset):
            self._transactions.start(state.producer_id, state.transaction_first_offset)

    # -- steps of `analyze`

    def _find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        state = self._producers.get(header.producer_id)
        return None if state is None else state.find_duplicate_batch(header)

    def _add(
        self, append: ProducerAppendInfo, batch: ProducedBatch, guard: VerificationGuard | None
    ) -> None:
        header = batch.header
        producer_id = header.producer_id
        before = self._producers.get(producer_id) or ProducerStateEntry(producer_id)
        verification = self._verifications.get(producer_id)
        if header.is_control:
            if batch.marker is not None:
                append.append_end_txn_marker(before, header, marker=batch.marker)
            if not _is_before_next_transaction(verification, header):
                append.mark_verified(header)
            return
        state = append.producers.get(producer_id, before)
        if (
            header.is_transactional
            and append.origin in _VERIFIED
            and self.config.is_verifying_transactions
            and not state.has_transaction_of(header.producer_epoch)
            and (guard is None or not self._verifications.is_guarded_by(producer_id, guard))
        ):
            # A fenced producer has to stop; a missing guard alone may be due to a slow coordinator.
            if header.producer_epoch < state.producer_epoch:
                raise old_epoch(header, state)
            raise InvalidTxnStateError(
                f"{producer_at(header)}: the transaction was not verified with its coordinator"
            )
        append.append_data_batch(before, header, verification=verification)
        append.mark_verified(header)


def _is_before_next_transaction(entry: VerificationStateEntry | None, header: BatchHeader) -> bool:
    """Return whether the entry waits for the transaction after this marker.

    In transactions v2 the marker has the epoch with which the producer continues.
    """
    return entry is not None and entry.supports_epoch_bump and entry.epoch == header.producer_epoch
