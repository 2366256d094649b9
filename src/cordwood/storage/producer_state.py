"""What is remembered of one producer, and what of a batch matters to it.

The last five batches are kept, as many as a client may have in flight, so that a batch sent again
is known again. A snapshot keeps the last one alone.
"""

from typing import Final, NamedTuple, Self

from cordwood.core.binary import Buffer
from cordwood.core.errors import InvalidRecordError
from cordwood.core.types import NO_OFFSET, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP
from cordwood.records.batch import RecordBatch
from cordwood.records.control import EndTransaction, read_control
from cordwood.records.header import BatchHeader
from cordwood.records.sequence import decrement_sequence

BATCHES_KEPT: Final = 5
NO_COORDINATOR_EPOCH: Final = -1


class ProducedBatch(NamedTuple):
    """A batch as far as its producer is concerned; `marker` is what a control batch says.

    A control batch without a marker is what compaction leaves of one, and means nothing.
    """

    header: BatchHeader
    marker: EndTransaction | None = None

    @classmethod
    def of(cls, header: BatchHeader, data: Buffer) -> Self:
        """Read the marker, if the batch is to have one; `data` begins with the whole batch."""
        if not (header.is_control and header.has_producer_id and header.record_count):
            return cls(header)
        control = read_control(next(RecordBatch(data).records()))
        if not isinstance(control, EndTransaction):
            raise InvalidRecordError(
                "a producer's control batch that ends no transaction",
                position=header.position,
                base_offset=header.base_offset,
            )
        return cls(header, control)


class WrittenBatch(NamedTuple):
    """What is remembered of a batch."""

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


class ProducerState(NamedTuple):
    """What is known of one producer; -1 where there is nothing."""

    producer_id: int
    producer_epoch: int = NO_PRODUCER_EPOCH
    batches: tuple[WrittenBatch, ...] = ()
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    last_timestamp: int = NO_TIMESTAMP
    transaction_first_offset: int = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The last offset of its last batch, markers aside."""
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def has_transaction(self) -> bool:
        return self.transaction_first_offset != NO_OFFSET

    def has_transaction_of(self, producer_epoch: int) -> bool:
        """Say whether a transaction of exactly this epoch is open."""
        return self.has_transaction and self.producer_epoch == producer_epoch

    def is_expired(self, now_ms: int, *, after_ms: int) -> bool:
        """Say whether it has been idle too long; a producer in a transaction never has."""
        return not self.has_transaction and now_ms - self.last_timestamp >= after_ms
