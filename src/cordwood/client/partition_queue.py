"""The batches of one partition between `send` and the broker's word, and their sequences.

    waiting     in the order of their records; what has to be sent again is back in its old place
    in flight   sent, not answered

A batch keeps the sequence that it was first sent with, by which the broker knows it again. Where a
sequence was lost for good (a sent batch was given up, the broker has forgotten the producer) the
partition starts again: once nothing is in flight any more, what waits is numbered from 0 under an
epoch one higher, which brokers take as a new beginning of this one partition.

The first batch of an identity is in flight alone. A leader that has nothing of a producer takes any
sequence: where it refuses the first batch for a while and not the second, the first could never
follow.
"""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.client.fate import Fate
from cordwood.core.binary import Buffer
from cordwood.core.types import TopicPartition
from cordwood.records.batch import HEADER_SIZE
from cordwood.records.builder import BatchBuilder, BatchFields, EncodedRecords
from cordwood.records.record import Header
from cordwood.records.sequence import increment_sequence

if TYPE_CHECKING:
    from cordwood.core.errors import KafkaError

LAST_EPOCH: Final = 0x7FFF

#: What a record takes beside its key, its value and its headers, at the most.
_RECORD_OVERHEAD: Final = 36
_HEADER_OVERHEAD: Final = 10


class Identity(NamedTuple):
    """What the broker knows an idempotent producer by."""

    producer_id: int
    epoch: int


class NewRecord(NamedTuple):
    """A record that is to be sent; without a partition the producer chooses one."""

    topic: str
    partition: int | None
    key: Buffer | None
    value: Buffer | None
    timestamp: int
    headers: Sequence[Header]
    #: How many bytes the record takes at the most.
    size: int


class NewBatch(NamedTuple):
    """Records that are a batch already; without a partition the producer chooses one for all."""

    topic: str
    partition: int | None
    records: EncodedRecords

    @property
    def key(self) -> None:
        """The key to choose a partition by, which a batch does not have."""

    @property
    def timestamp(self) -> int:
        """The first record's."""
        return self.records.base_timestamp

    @property
    def size(self) -> int:
        """How many bytes the batch takes at the most."""
        return HEADER_SIZE + len(self.records.raw)


def most_bytes(key: Buffer | None, value: Buffer | None, *, headers: Sequence[Header]) -> int:
    """Return how many bytes a record can take at the most."""
    size = _RECORD_OVERHEAD + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += _HEADER_OVERHEAD + 4 * len(name) + len(content or b"")
    return size


class Appended(NamedTuple):
    """Where a record was put, and whether there is something more to be sent, now or later."""

    fate: Fate
    place: int
    is_news: bool


class ProducerBatch:
    """Records that are sent together; `size` is what they take, `reserved` what they might."""

    __slots__ = (
        "attempts",
        "base_sequence",
        "builder",
        "created_ms",
        "fate",
        "is_full",
        "not_before_ms",
        "number",
        "problem",
        "reserved",
        "size",
    )

    def __init__(
        self, partition: TopicPartition, builder: BatchBuilder, *, number: int, created_ms: float
    ) -> None:
        self.builder = builder
        self.fate = Fate(partition)
        self.number = number
        self.created_ms = created_ms
        self.attempts = 0
        self.not_before_ms = 0.0
        self.is_full = False
        self.size = 0
        self.reserved = 0
        self.problem: KafkaError | None = None
        self.base_sequence: int | None = None

    def append(self, record: NewRecord) -> int:
        """Add a record, and return its place in the batch."""
        builder = self.builder
        place = builder.append(
            record.key, record.value, timestamp=record.timestamp, headers=record.headers
        )
        self.reserved += record.size
        self.size = builder.uncompressed_size
        return place

    def number_from(self, identity: Identity, base_sequence: int) -> None:
        """Take a sequence, in place of one that it may have."""
        self.base_sequence = base_sequence
        self.builder.fields = self.builder.fields._replace(
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=base_sequence,
        )


class PartitionQueue:
    """One partition's batches."""

    def __init__(self, partition: TopicPartition, fields: BatchFields, *, batch_size: int) -> None:
        self.partition = partition
        self.waiting: deque[ProducerBatch] = deque()
        self.in_flight: list[ProducerBatch] = []
        self.identity: Identity | None = None
        self._fields = fields
        self._batch_size = batch_size
        self._made = 0
        self._next_sequence = 0
        self._next_acknowledged = 0
        self._is_restart_due = False
        self._is_begun = True  # without an identity there is nothing to begin

    def append(self, new: NewRecord | NewBatch, now_ms: float) -> Appended:
        """Add a record, or a batch of them."""
        if isinstance(new, NewBatch):
            return self._append_batch(new, now_ms)
        return self._append_record(new, now_ms)

    def _append_record(self, record: NewRecord, now_ms: float) -> Appended:
        last = self.waiting[-1] if self.waiting else None
        is_new = last is None or last.is_full or last.size + record.size > self._batch_size
        if last is None or is_new:
            last = self._made_of(BatchBuilder(self._fields), now_ms)
        place = last.append(record)
        last.is_full = last.size >= self._batch_size
        if is_new:
            self._add(last)
        return Appended(last.fate, place, is_new or last.is_full)

    def _append_batch(self, new: NewBatch, now_ms: float) -> Appended:
        batch = self._made_of(BatchBuilder.of_encoded(new.records, self._fields), now_ms)
        batch.size = batch.reserved = new.size
        batch.is_full = True
        self._add(batch)
        return Appended(batch.fate, 0, is_news=True)

    def _made_of(self, builder: BatchBuilder, now_ms: float) -> ProducerBatch:
        return ProducerBatch(self.partition, builder, number=self._made, created_ms=now_ms)

    def _add(self, batch: ProducerBatch) -> None:
        """Let a batch wait behind the others, the last of which takes no more."""
        if self.waiting:
            self.waiting[-1].is_full = True
        self._made += 1
        self.waiting.append(batch)

    def due_ms(self, linger_ms: float) -> float | None:
        """Return from when on the first batch may be sent; None if nothing may be for now."""
        must_be_alone = self._is_restart_due or not self._is_begun
        if not self.waiting or (must_be_alone and self.in_flight):
            return None
        first = self.waiting[0]
        if first.attempts or first.is_full:
            return first.not_before_ms
        return first.created_ms + linger_ms

    def take(self, identity: Identity | None) -> ProducerBatch:
        """Return the first batch, to be sent now."""
        if identity is not None:
            self._start(identity)
        batch = self.waiting.popleft()
        if self.identity is not None and batch.base_sequence is None:
            batch.number_from(self.identity, self._next_sequence)
            self._next_sequence = increment_sequence(self._next_sequence, batch.builder.count)
        batch.attempts += 1
        batch.is_full = True
        self.in_flight.append(batch)
        return batch

    def acknowledge(self, batch: ProducerBatch) -> None:
        """Forget a batch that the broker has."""
        self.in_flight.remove(batch)
        if batch.base_sequence is not None:
            self._is_begun = True
            self._next_acknowledged = increment_sequence(batch.base_sequence, batch.builder.count)

    def retry(self, batch: ProducerBatch, not_before_ms: float) -> None:
        """Put a batch back, to be sent again."""
        self.in_flight.remove(batch)
        batch.not_before_ms = not_before_ms
        place = sum(each.number < batch.number for each in self.waiting)
        self.waiting.insert(place, batch)

    def give_up(self, batch: ProducerBatch) -> None:
        """Forget a batch that may or may not have been written."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)
        else:
            self.waiting.remove(batch)
        if batch.base_sequence is not None:
            self.restart()

    def restart(self) -> None:
        """Begin the sequences anew as soon as nothing is in flight."""
        self._is_restart_due = True

    def is_next(self, batch: ProducerBatch) -> bool:
        """Whether every batch before this one has been acknowledged."""
        return batch.base_sequence == self._next_acknowledged

    def is_spent(self, identity: Identity) -> bool:
        """Whether only another producer id lets the partition start again."""
        return (
            self._is_restart_due
            and self.identity is not None
            and self.identity.producer_id == identity.producer_id
            and self.identity.epoch >= LAST_EPOCH
        )

    def _start(self, identity: Identity) -> None:
        """Take the producer's identity where that is the first, or a new one may be taken."""
        mine = self.identity
        if mine is None or (mine.producer_id != identity.producer_id and not self._has_numbered()):
            self._begin(identity)
        elif self._is_restart_due:
            is_other = mine.producer_id != identity.producer_id
            self._begin(identity if is_other else Identity(mine.producer_id, mine.epoch + 1))
            for batch in self.waiting:
                if batch.base_sequence is not None:
                    batch.number_from(self.identity or identity, self._next_sequence)
                    self._next_sequence = increment_sequence(
                        self._next_sequence, batch.builder.count
                    )

    def _begin(self, identity: Identity) -> None:
        self.identity = identity
        self._next_sequence = self._next_acknowledged = 0
        self._is_restart_due = self._is_begun = False

    def _has_numbered(self) -> bool:
        return bool(self.in_flight) or any(
            batch.base_sequence is not None for batch in self.waiting
        )
