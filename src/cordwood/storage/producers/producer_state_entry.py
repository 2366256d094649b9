"""State of one producer in a log (Kafka: `ProducerStateEntry`, `BatchMetadata`).

An entry has the last five batches, as many as a client may have in flight, so that a retried batch
is recognized as a duplicate. A snapshot has only the last one.
"""

from typing import Final, NamedTuple, Self

from cordwood.core.binary import Buffer
from cordwood.core.errors import InvalidRecordError
from cordwood.core.types import NO_OFFSET, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP
from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import EndTransaction, read_control, read_plain_marker
from cordwood.records.record_batch import RecordBatch
from cordwood.records.sequence import decrement_sequence

BATCHES_TO_RETAIN: Final = 5
NO_COORDINATOR_EPOCH: Final = -1


class ProducedBatch(NamedTuple):
    """A batch's header and the marker in it, if it is a control batch.

    A control batch without a marker is the remainder that compaction leaves; it has no effect.
    """

    header: BatchHeader
    marker: EndTransaction | None = None

    @classmethod
    def of(cls, header: BatchHeader, data: Buffer) -> Self:
        """Read the marker, if the batch has one; `data` begins with the whole batch."""
        if not (header.is_control and header.has_producer_id and header.record_count):
            return cls(header)
        plain = read_plain_marker(data[: header.size])
        if plain is not None:
            return cls(header, plain)
        control = read_control(next(RecordBatch(data).records()))
        if not isinstance(control, EndTransaction):
            raise InvalidRecordError(
                "a control batch of a producer does not end a transaction",
                position=header.position,
                base_offset=header.base_offset,
            )
        return cls(header, control)


class BatchMetadata(NamedTuple):
    """The sequences, offsets and timestamp of a batch that was written."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        return decrement_sequence(self.last_sequence, self.offset_delta)


class ProducerStateEntry(NamedTuple):
    """The state of one producer; -1 for a value that does not exist."""

    producer_id: int
    producer_epoch: int = NO_PRODUCER_EPOCH
    batches: tuple[BatchMetadata, ...] = ()
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    last_timestamp: int = NO_TIMESTAMP
    transaction_first_offset: int = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The last offset of the last batch; markers do not count."""
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def has_transaction(self) -> bool:
        return self.transaction_first_offset != NO_OFFSET

    def has_transaction_of(self, producer_epoch: int) -> bool:
        """Return whether a transaction of exactly this epoch is open."""
        return self.has_transaction and self.producer_epoch == producer_epoch

    def find_duplicate_batch(self, header: BatchHeader) -> BatchMetadata | None:
        """Return the retained batch with exactly the epoch and sequences of `header`, or None."""
        if header.producer_epoch != self.producer_epoch:
            return None
        last_sequence = header.last_sequence
        for batch in self.batches:
            # Most batches differ in the last sequence, which needs no arithmetic.
            if batch.last_sequence == last_sequence and (
                batch.first_sequence == header.base_sequence
            ):
                return batch
        return None

    def is_expired(self, now_ms: int, *, after_ms: int) -> bool:
        """Return whether the producer was idle too long; an open transaction prevents it."""
        return not self.has_transaction and now_ms - self.last_timestamp >= after_ms
