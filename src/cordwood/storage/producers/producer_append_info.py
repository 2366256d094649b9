"""Changes that one append makes to the producers in it (Kafka: `ProducerAppendInfo`).

    epoch         at least the last one seen; a marker of transactions v2 that ends one has a
                  higher epoch, unless it has the highest of all
    sequence      checked for clients only: the next one, 0 in a new epoch, any for a new producer
    transaction   while one is open, the producer writes only batches of it
    marker        ends the transaction; with a higher epoch, sequences start at 0 again

A replica accepts the batches that its leader has accepted. A batch that a leader would reject
becomes a warning, except a batch outside an open transaction. For a batch that is already in the
log, that is a warning too: the batch counts, and the transaction stays open until its marker.
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
from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import EndTransaction
from cordwood.records.sequence import increment_sequence
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.producers.ongoing_transactions import CompletedTxn
from cordwood.storage.producers.producer_state_entry import (
    BATCHES_TO_RETAIN,
    BatchMetadata,
    ProducerStateEntry,
)
from cordwood.storage.producers.verification_guard import VerificationStateEntry

#: The highest epoch; no marker can have a higher one.
_MAX_PRODUCER_EPOCH: Final = 32_767


class DuplicateBatch(NamedTuple):
    """The offsets and the timestamp of a batch that was written before, for the response."""

    first_offset: int
    last_offset: int
    timestamp: int


class ProducerChanges(NamedTuple):
    """The changes of an append to a log's producers.

    `started` maps first offsets to producer ids, in the log's order. `verified` has the producers
    whose verification guards are used up. `warnings` name what a leader would reject.
    """

    producers: Mapping[int, ProducerStateEntry] = MappingProxyType({})
    started: Mapping[int, int] = MappingProxyType({})
    completed: tuple[CompletedTxn, ...] = ()
    verified: frozenset[int] = frozenset()
    warnings: tuple[str, ...] = ()


NO_CHANGES: Final = ProducerChanges()


class ProducerAppendInfo:
    """The changes of one append, collected batch by batch; the log's producers do not change."""

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
        self, origin: AppendOrigin, *, is_strict_on_markers: bool = False, is_written: bool = False
    ) -> None:
        self.origin = origin
        self._is_written = is_written
        self.producers: dict[int, ProducerStateEntry] = {}
        self._is_strict_on_markers = is_strict_on_markers
        self._started: dict[int, int] = {}
        self._completed: list[CompletedTxn] = []
        self._verified: set[int] = set()
        self._warnings: list[str] = []

    def changes(self) -> ProducerChanges:
        return ProducerChanges(
            self.producers,
            self._started,
            tuple(self._completed),
            frozenset(self._verified),
            tuple(self._warnings),
        )

    def mark_verified(self, header: BatchHeader) -> None:
        """Mark the producer as verified: its transaction has begun or ended."""
        if header.is_transactional:
            self._verified.add(header.producer_id)

    def append_data_batch(
        self,
        before: ProducerStateEntry,
        header: BatchHeader,
        *,
        verification: VerificationStateEntry | None,
    ) -> None:
        state = self.producers.get(header.producer_id, before)
        if header.producer_epoch < state.producer_epoch:
            self._reject(old_epoch(header, state))
        if self.origin is AppendOrigin.CLIENT:
            _ensure_not_overtaking(before, header, verification)
            _ensure_in_sequence(before, state, header)
        if state.has_transaction and not header.is_transactional:
            outside = InvalidTxnStateError(
                f"{producer_at(header)}: the batch is outside the transaction that is open since "
                f"offset {state.transaction_first_offset}"
            )
            if not self._is_written:
                raise outside
            self._warnings.append(str(outside))
        first_offset = state.transaction_first_offset
        if header.is_transactional and not state.has_transaction:
            first_offset = header.base_offset
            self._started[first_offset] = header.producer_id
        is_same_epoch = header.producer_epoch == state.producer_epoch
        kept = state.batches[1 - BATCHES_TO_RETAIN :] if is_same_epoch else ()
        self.producers[header.producer_id] = ProducerStateEntry(
            header.producer_id,
            header.producer_epoch,
            (*kept, _batch_metadata(header)),
            state.coordinator_epoch,
            header.max_timestamp,
            first_offset,
        )

    def append_end_txn_marker(
        self, before: ProducerStateEntry, header: BatchHeader, *, marker: EndTransaction
    ) -> None:
        state = self.producers.get(header.producer_id, before)
        if header.producer_epoch < state.producer_epoch or (
            self._is_strict_on_markers
            and state.has_transaction
            and header.producer_epoch == state.producer_epoch
            and header.producer_epoch != _MAX_PRODUCER_EPOCH
        ):
            self._reject(old_epoch(header, state))
        if marker.coordinator_epoch < state.coordinator_epoch:
            self._reject(
                TransactionCoordinatorFencedError(
                    f"{producer_at(header)}: the marker has coordinator epoch "
                    f"{marker.coordinator_epoch}, below the last one seen, "
                    f"{state.coordinator_epoch}"
                )
            )
        if state.has_transaction:
            self._completed.append(
                CompletedTxn(
                    header.producer_id,
                    state.transaction_first_offset,
                    header.base_offset,
                    not marker.is_commit,
                )
            )
        is_same_epoch = header.producer_epoch == state.producer_epoch
        self.producers[header.producer_id] = ProducerStateEntry(
            header.producer_id,
            header.producer_epoch,
            state.batches if is_same_epoch else (),
            marker.coordinator_epoch,
            header.max_timestamp,
        )

    def _reject(self, error: KafkaError) -> None:
        """Raise the error; on a replica, where the leader has decided already, add a warning."""
        if self.origin is not AppendOrigin.REPLICATION:
            raise error
        self._warnings.append(str(error))


def _batch_metadata(header: BatchHeader) -> BatchMetadata:
    return BatchMetadata(
        header.last_sequence,
        header.last_offset,
        header.last_offset - header.base_offset,
        header.max_timestamp,
    )


def _ensure_in_sequence(
    before: ProducerStateEntry, state: ProducerStateEntry, header: BatchHeader
) -> None:
    """Reject a gap in sequences.

    `before` is the state before the append, `state` the one after its earlier batches.
    """
    first = header.base_sequence
    if header.producer_epoch != state.producer_epoch:
        expected = 0
        is_unknown = state.producer_epoch == NO_PRODUCER_EPOCH
    else:
        expected = increment_sequence(state.last_sequence, 1)
        is_unknown = before.producer_epoch == NO_PRODUCER_EPOCH
    if first != expected and not is_unknown:
        raise OutOfOrderSequenceNumberError(
            f"{producer_at(header)}: sequence {first}, expected {expected}; the last epoch seen is "
            f"{state.producer_epoch}, the last sequence {state.last_sequence}"
        )


def _ensure_not_overtaking(
    before: ProducerStateEntry, header: BatchHeader, verification: VerificationStateEntry | None
) -> None:
    """Reject a batch that arrives before an earlier one whose verification is pending."""
    if verification is None:
        return
    first = header.base_sequence
    is_too_late = verification.supports_epoch_bump and first != 0 and not before.batches
    if is_too_late or first > verification.lowest_sequence:
        lowest = 0 if is_too_late else verification.lowest_sequence
        raise OutOfOrderSequenceNumberError(
            f"{producer_at(header)}: sequence {first} must wait for sequence {lowest}"
        )


def old_epoch(header: BatchHeader, state: ProducerStateEntry) -> KafkaError:
    """Return the error of a batch with an epoch that is too low."""
    return InvalidProducerEpochError(
        f"{producer_at(header)}: the epoch is below the last one seen, {state.producer_epoch}"
    )


def producer_at(header: BatchHeader) -> str:
    """Return the subject of an error: the producer, its epoch and the offset."""
    return (
        f"producer {header.producer_id} with epoch {header.producer_epoch} "
        f"at offset {header.base_offset}"
    )
