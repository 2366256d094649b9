"""What a log knows of its idempotent and transactional producers, and what it lets them write.

An append is analyzed first, all of it, and then applied: `analyze` changes nothing; once the
records are written come `apply`, then for each completed transaction its entry in the index and
`complete`, then `advance`. Two checks come before those of `producer_append`:

    duplicate      a client's batch with the exact sequences of a remembered one is answered with
                   that one's offsets, and not written again
    verification   a client or a coordinator opens a transaction with the guard that it was given
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cordwood.core.errors import InvalidProducerEpochError, InvalidTxnStateError
from cordwood.records.header import BatchHeader
from cordwood.storage.origin import Origin
from cordwood.storage.producer_append import NO_CHANGES, AppendDraft, Changes, Duplicate, name_in
from cordwood.storage.producer_state import ProducedBatch, ProducerState
from cordwood.storage.transactions import CompletedTransaction, Transactions
from cordwood.storage.verification import VerificationEntry, VerificationGuard, Verifications

LATE_TRANSACTION_BUFFER_MS: Final = 5 * 60 * 1000

_VERIFIED: Final = frozenset({Origin.CLIENT, Origin.COORDINATOR})


def _ignore(*_: str) -> None:
    """Hear of a warning that interests nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """The broker's values, replaced as a whole when they change."""

    id_expiration_ms: int = 86_400_000
    is_verifying_transactions: bool = True
    max_transaction_timeout_ms: int = 900_000


class ProducerStates:
    """The producers of one log. `settings` may be replaced at any time."""

    __slots__ = ("_map_end_offset", "_producers", "_transactions", "_verifications", "settings")

    def __init__(self, settings: ProducerSettings | None = None) -> None:
        self.settings = settings or ProducerSettings()
        self._producers: dict[int, ProducerState] = {}
        self._transactions = Transactions()
        self._verifications = Verifications()
        self._map_end_offset = 0

    # -- what is known

    @property
    def producers(self) -> Mapping[int, ProducerState]:
        return MappingProxyType(self._producers)

    @property
    def map_end_offset(self) -> int:
        """Everything below it has been taken into account."""
        return self._map_end_offset

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction begins that is not over, or not below the high watermark."""
        return self._transactions.first_unstable_offset

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the oldest transaction begins that has no marker."""
        return self._transactions.first_undecided_offset

    @property
    def is_empty(self) -> bool:
        return not self._producers and not self._transactions.has_unreplicated

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Say whether a transaction of exactly this epoch is open."""
        state = self._producers.get(producer_id)
        return state is not None and state.has_transaction_of(producer_epoch)

    def has_late_transaction(self, now_ms: int) -> bool:
        """Say whether the oldest open transaction has been silent longer than any may be."""
        producer_id = self._transactions.oldest_producer_id
        if producer_id is None:
            return False
        limit_ms = self.settings.max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS
        return 0 < self._producers[producer_id].last_timestamp < now_ms - limit_ms

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
        """Return the guard to append with once the coordinator agrees; None if none is needed."""
        state = self._producers.get(producer_id, ProducerState(producer_id))
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
        origin: Origin,
        *,
        guard: VerificationGuard | None = None,
        is_strict_on_markers: bool = False,
    ) -> Changes | Duplicate:
        """Return what an append would change, or raise; nothing is changed either way.

        Markers of transactions v2 are checked strictly: each has an epoch of its own.
        """
        draft: AppendDraft | None = None
        for batch in batches:
            if not batch.header.has_producer_id:
                continue
            if origin is Origin.CLIENT and (found := self._find_duplicate(batch.header)):
                return found
            draft = draft or AppendDraft(origin, is_strict_on_markers=is_strict_on_markers)
            self._draft(draft, batch, guard)
        return NO_CHANGES if draft is None else draft.changes()

    def apply(self, changes: Changes) -> None:
        """The records are written."""
        if changes is NO_CHANGES:
            return
        self._producers.update(changes.producers)
        for first_offset, producer_id in changes.started.items():
            self._transactions.start(producer_id, first_offset)
        for producer_id in changes.verified:
            self._verifications.clear(producer_id)

    def last_stable_offset_of(self, completed: CompletedTransaction) -> int:
        """Return what an entry of the transaction index says; ask before `complete`."""
        return self._transactions.last_stable_offset_of(completed)

    def complete(self, completed: CompletedTransaction) -> None:
        """The transaction index knows of it, if it has to."""
        self._transactions.complete(completed)

    def advance(self, end_offset: int) -> None:
        """Everything below `end_offset` has been applied, whether it had producers or not."""
        self._map_end_offset = end_offset

    def replay(
        self, batch: ProducedBatch, warn: Callable[..., object] = _ignore
    ) -> tuple[CompletedTransaction, int] | None:
        """Take one batch that is in the log already, whatever a leader would say of it.

        Return the transaction that it completed and the last stable offset then. `warn` is told
        what a leader would have refused.
        """
        changes = NO_CHANGES
        if batch.header.has_producer_id:
            draft = AppendDraft(Origin.REPLICATION, is_written=True)
            self._draft(draft, batch, None)
            changes = draft.changes()
            self.apply(changes)
            warn(*changes.warnings)
        self.advance(batch.header.next_offset)
        if not changes.completed:
            return None
        (completed,) = changes.completed
        stable = self.last_stable_offset_of(completed)
        self.complete(completed)
        return completed, stable

    # -- what else happens to a log

    def on_high_watermark(self, high_watermark: int) -> None:
        """Markers below it make their transactions stable."""
        self._transactions.forget_below(high_watermark)

    def on_log_start(self, log_start_offset: int) -> None:
        """The start of the log has moved up; producers stay, whatever is left of them."""
        self._transactions.forget_below(log_start_offset)
        self._map_end_offset = max(self._map_end_offset, log_start_offset)

    def expire(self, now_ms: int) -> int:
        """Forget the idle ones, and verifications that came to nothing; return how many went."""
        after_ms = self.settings.id_expiration_ms
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
        """Forget producers and transactions; the log goes on at `end_offset`."""
        self._producers.clear()
        self._transactions.clear()
        self._map_end_offset = end_offset

    def load(self, states: Iterable[ProducerState], *, end_offset: int, now_ms: int) -> None:
        """Start from a snapshot taken at `end_offset`, without those that have expired since."""
        self.clear(end_offset)
        after_ms = self.settings.id_expiration_ms
        for state in states:
            if not state.is_expired(now_ms, after_ms=after_ms):
                self._producers[state.producer_id] = state
        opened = (state for state in self._producers.values() if state.has_transaction)
        for state in sorted(opened, key=lambda state: state.transaction_first_offset):
            self._transactions.start(state.producer_id, state.transaction_first_offset)

    # -- the steps of an analysis

    def _find_duplicate(self, header: BatchHeader) -> Duplicate | None:
        state = self._producers.get(header.producer_id)
        if state is None or header.producer_epoch != state.producer_epoch:
            return None
        last_sequence = header.last_sequence
        for batch in state.batches:
            if batch.last_sequence == last_sequence and (
                batch.first_sequence == header.base_sequence
            ):
                return Duplicate(batch.first_offset, batch.last_offset, batch.timestamp)
        return None

    def _draft(
        self, draft: AppendDraft, batch: ProducedBatch, guard: VerificationGuard | None
    ) -> None:
        header = batch.header
        producer_id = header.producer_id
        before = self._producers.get(producer_id) or ProducerState(producer_id)
        verification = self._verifications.get(producer_id)
        if header.is_control:
            if batch.marker is not None:
                draft.append_marker(before, header, marker=batch.marker)
            if not _is_before_next_transaction(verification, header):
                draft.spend_guard(header)
            return
        state = draft.producers.get(producer_id, before)
        if (
            header.is_transactional
            and draft.origin in _VERIFIED
            and self.settings.is_verifying_transactions
            and not state.has_transaction_of(header.producer_epoch)
            and (guard is None or not self._verifications.is_guarded_by(producer_id, guard))
        ):
            raise InvalidTxnStateError(
                f"{name_in(header)}: the batch is part of no transaction that its coordinator knows"
            )
        draft.append_data(before, header, verification=verification)
        draft.spend_guard(header)


def _is_before_next_transaction(entry: VerificationEntry | None, header: BatchHeader) -> bool:
    """Say whether the entry waits for the transaction that comes after this marker.

    In transactions v2 the marker carries the epoch that the producer goes on with.
    """
    return entry is not None and entry.supports_epoch_bump and entry.epoch == header.producer_epoch
