"""What one append does to the producers in it, batch by batch; nothing is changed meanwhile.

    epoch         not below the known one; a marker of transactions v2 that ends one is above it
    sequence      of a client only: the next one, or 0 in a new epoch; any where nothing is known
    transaction   while one is open, nothing but it is written
    marker        ends the transaction; a higher epoch in it makes sequences start at 0 again

A replica takes what its leader has let through: what a leader would refuse becomes a warning,
except a batch outside an open transaction. Of what is in the log already that is a warning too: the
batch counts, and the transaction stays open until its marker comes.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    KafkaError,
    OutOfOrderSequenceNumberError,
    TransactionCoordinatorFencedError,
)
from cordwood.core.types import NO_PRODUCER_EPOCH
from cordwood.records.control import EndTransaction
from cordwood.records.header import BatchHeader
from cordwood.records.sequence import increment_sequence
from cordwood.storage.origin import Origin
from cordwood.storage.producer_state import BATCHES_KEPT, ProducerState, WrittenBatch
from cordwood.storage.transactions import CompletedTransaction
from cordwood.storage.verification import VerificationEntry


class Duplicate(NamedTuple):
    """The answer to a batch that has been written before."""

    first_offset: int
    last_offset: int
    timestamp: int


class Changes(NamedTuple):
    """What an append would do. `started` has producer ids by first offset, in the log's order.

    `verified` have written, so their guards are spent. `warnings` say what a leader would refuse.
    """

    producers: Mapping[int, ProducerState] = MappingProxyType({})
    started: Mapping[int, int] = MappingProxyType({})
    completed: tuple[CompletedTransaction, ...] = ()
    verified: frozenset[int] = frozenset()
    warnings: tuple[str, ...] = ()


NO_CHANGES: Final = Changes()


class AppendDraft:
    """The changes of an append, batch by batch."""

    __slots__ = (
        "_completed",
        "_is_strict_on_markers",
        "_is_written",
        "_started",
        "_verified",
        "_warnings",
        "origin",
        "producers",
    )

    def __init__(
        self, origin: Origin, *, is_strict_on_markers: bool = False, is_written: bool = False
    ) -> None:
        self.origin = origin
        self._is_written = is_written
        self.producers: dict[int, ProducerState] = {}
        self._is_strict_on_markers = is_strict_on_markers
        self._started: dict[int, int] = {}
        self._completed: list[CompletedTransaction] = []
        self._verified: set[int] = set()
        self._warnings: list[str] = []

    def changes(self) -> Changes:
        return Changes(
            self.producers,
            self._started,
            tuple(self._completed),
            frozenset(self._verified),
            tuple(self._warnings),
        )

    def spend_guard(self, header: BatchHeader) -> None:
        """Note that a transaction has begun or ended, and needs no verification any more."""
        if header.is_transactional:
            self._verified.add(header.producer_id)

    def append_data(
        self, before: ProducerState, header: BatchHeader, *, verification: VerificationEntry | None
    ) -> None:
        state = self.producers.get(header.producer_id, before)
        if header.producer_epoch < state.producer_epoch:
            self._refuse(_old_epoch(header, state))
        if self.origin is Origin.CLIENT:
            _ensure_not_overtaking(before, header, verification)
            _ensure_in_sequence(before, state, header)
        if state.has_transaction and not header.is_transactional:
            outside = InvalidTxnStateError(
                f"{name_in(header)}: a batch outside the transaction that is open since offset "
                f"{state.transaction_first_offset}"
            )
            if not self._is_written:
                raise outside
            self._warnings.append(str(outside))
        first_offset = state.transaction_first_offset
        if header.is_transactional and not state.has_transaction:
            first_offset = header.base_offset
            self._started[first_offset] = header.producer_id
        is_same_epoch = header.producer_epoch == state.producer_epoch
        kept = state.batches[1 - BATCHES_KEPT :] if is_same_epoch else ()
        self.producers[header.producer_id] = ProducerState(
            header.producer_id,
            header.producer_epoch,
            (*kept, _written(header)),
            state.coordinator_epoch,
            header.max_timestamp,
            first_offset,
        )

    def append_marker(
        self, before: ProducerState, header: BatchHeader, *, marker: EndTransaction
    ) -> None:
        state = self.producers.get(header.producer_id, before)
        if header.producer_epoch < state.producer_epoch or (
            self._is_strict_on_markers
            and state.has_transaction
            and header.producer_epoch == state.producer_epoch
        ):
            self._refuse(_old_epoch(header, state))
        if marker.coordinator_epoch < state.coordinator_epoch:
            self._refuse(
                TransactionCoordinatorFencedError(
                    f"{name_in(header)}: a marker of coordinator epoch {marker.coordinator_epoch}, "
                    f"below the last one seen, {state.coordinator_epoch}"
                )
            )
        if state.has_transaction:
            self._completed.append(
                CompletedTransaction(
                    header.producer_id,
                    state.transaction_first_offset,
                    header.base_offset,
                    not marker.is_commit,
                )
            )
        is_same_epoch = header.producer_epoch == state.producer_epoch
        self.producers[header.producer_id] = ProducerState(
            header.producer_id,
            header.producer_epoch,
            state.batches if is_same_epoch else (),
            marker.coordinator_epoch,
            header.max_timestamp,
        )

    def _refuse(self, error: KafkaError) -> None:
        """Raise, or only remember where the leader has decided already."""
        if self.origin is not Origin.REPLICATION:
            raise error
        self._warnings.append(str(error))


def _written(header: BatchHeader) -> WrittenBatch:
    return WrittenBatch(
        header.last_sequence,
        header.last_offset,
        header.last_offset - header.base_offset,
        header.max_timestamp,
    )


def _ensure_in_sequence(before: ProducerState, state: ProducerState, header: BatchHeader) -> None:
    """Refuse a gap. `before` is the state before the append, `state` the one it has led to."""
    first = header.base_sequence
    if header.producer_epoch != state.producer_epoch:
        expected = 0
        is_unknown = state.producer_epoch == NO_PRODUCER_EPOCH
    else:
        expected = increment_sequence(state.last_sequence, 1)
        is_unknown = before.producer_epoch == NO_PRODUCER_EPOCH
    if first != expected and not is_unknown:
        raise OutOfOrderSequenceNumberError(
            f"{name_in(header)}: sequence {first}, expected {expected}; the last epoch seen is "
            f"{state.producer_epoch}, the last sequence {state.last_sequence}"
        )


def _ensure_not_overtaking(
    before: ProducerState, header: BatchHeader, verification: VerificationEntry | None
) -> None:
    """Refuse what comes before a batch that is still to be verified."""
    if verification is None:
        return
    first = header.base_sequence
    is_too_late = verification.supports_epoch_bump and first != 0 and not before.batches
    if is_too_late or first > verification.lowest_sequence:
        lowest = 0 if is_too_late else verification.lowest_sequence
        raise OutOfOrderSequenceNumberError(
            f"{name_in(header)}: sequence {first} has to wait for {lowest}"
        )


def _old_epoch(header: BatchHeader, state: ProducerState) -> KafkaError:
    return InvalidProducerEpochError(
        f"{name_in(header)}: too low, as {state.producer_epoch} has been seen"
    )


def name_in(header: BatchHeader) -> str:
    """Return the subject of an error's sentence."""
    return (
        f"producer {header.producer_id} with epoch {header.producer_epoch} "
        f"at offset {header.base_offset}"
    )
