"""Batches and sequences of one partition (Java: `RecordAccumulator`'s deque, `TxnPartitionEntry`).

    waiting     in record order; a batch to be retried is back in its old place, and a batch above
                the topic's limit is there as two halves, which share its sequences
    in flight   sent, without a response yet

A batch keeps the sequence that it was first sent with; the broker uses it to detect duplicates.

A batch is **uncertain** after an attempt that may have been written: its response was lost, or does
not exclude the write. An uncertain batch is sent under its old sequence until a broker answers
about it, even after its delivery was reported as timed out. Later batches keep their sequences
meanwhile. Java numbers them again at the timeout, so that one which was written is written twice.

A sequence is lost for good if a sent batch fails for good, or if the broker no longer has the
producer id. The partition then restarts its sequences, once no batch is in flight and the first
waiting batch is certain. The waiting batches are numbered from 0 with an epoch one higher, which
brokers accept as a new start of this partition. A batch behind one that was not written was not
written either. docs/decisions/0020-unresolved-batches.md has the reasons.

The first batch of a producer id or epoch is in flight alone. A leader without state for a producer
accepts any first sequence. If it rejected the first batch for a while and accepted the second, the
first could never be appended. At most RETAINED_BATCHES are in flight, because a broker detects the
duplicates of that many batches.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.client.producer.batch_result import BatchResult
from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.core.errors import KafkaError, OutOfOrderSequenceNumberError
from cordwood.core.types import TopicPartition
from cordwood.records.batch_builder import BatchBuilder, BatchFields, EncodedRecords
from cordwood.records.record import Header
from cordwood.records.record_batch import HEADER_SIZE
from cordwood.records.sequence import increment_sequence

LAST_EPOCH: Final = 0x7FFF
#: Last batches of a producer that a broker keeps (Kafka: `NUM_BATCHES_TO_RETAIN`).
RETAINED_BATCHES: Final = 5

#: Upper bound of a record's bytes apart from its key, value and headers.
_RECORD_OVERHEAD: Final = 36
_HEADER_OVERHEAD: Final = 10


class ProducerIdentity(NamedTuple):
    """Producer id and epoch of an idempotent producer (Java: `ProducerIdAndEpoch`)."""

    producer_id: int
    epoch: int
    is_transactional: bool = False


class NewRecord(NamedTuple):
    """A serialized record to be sent; without a partition the producer chooses one."""

    topic: str
    partition: int | None
    key: Buffer | None
    value: Buffer | None
    timestamp: int
    headers: Sequence[Header]
    #: Upper bound of the record's encoded bytes.
    size: int


class NewBatch(NamedTuple):
    """An encoded batch to be sent; without a partition the producer chooses one for all its
    records.
    """

    topic: str
    partition: int | None
    records: EncodedRecords

    @property
    def key(self) -> None:
        """None: a batch has no key to choose a partition by."""

    @property
    def timestamp(self) -> int:
        """Timestamp of the first record."""
        return self.records.base_timestamp

    @property
    def size(self) -> int:
        """Upper bound of the batch's bytes."""
        return HEADER_SIZE + len(self.records.raw)


def max_record_bytes(key: Buffer | None, value: Buffer | None, *, headers: Sequence[Header]) -> int:
    """Return an upper bound of a record's encoded bytes; TypeError for a wrong type."""
    size = _RECORD_OVERHEAD + _bytes_of(key, "the key") + _bytes_of(value, "the value")
    for name, content in headers:
        if not isinstance(name, str):
            raise TypeError(f"the header key {name!r} is {type(name).__name__}; give text")
        size += _HEADER_OVERHEAD + 4 * len(name) + _bytes_of(content, f"header {name!r}")
    return size


def _bytes_of(content: Buffer | None, what: str) -> int:
    """Return the bytes of a buffer, which are not the length of one with larger items."""
    if content is None:
        return 0
    if isinstance(content, memoryview):
        return content.nbytes
    if not isinstance(content, bytes | bytearray):
        raise TypeError(f"{what} is {type(content).__name__}; give bytes, or None")
    return len(content)


class RecordAppendResult(NamedTuple):
    """Batch and index of an appended record, and whether the sender has to wake up."""

    batch_result: BatchResult
    record_index: int
    is_wakeup_due: bool


class ProducerBatch:
    """Batch of records; `size` is its present size, `reserved` its share of the buffer memory."""

    __slots__ = (
        "attempts",
        "base_sequence",
        "builder",
        "created_ms",
        "is_full",
        "is_uncertain",
        "not_before_ms",
        "number",
        "problem",
        "reserved",
        "result",
        "size",
    )

    def __init__(
        self,
        partition: TopicPartition,
        builder: BatchBuilder,
        *,
        number: tuple[int, ...],
        created_ms: float,
    ) -> None:
        self.builder = builder
        self.result = BatchResult(partition)
        self.number = number
        self.created_ms = created_ms
        self.attempts = 0
        self.not_before_ms = 0.0
        self.is_full = False
        self.is_uncertain = False
        self.size = 0
        self.reserved = 0
        self.problem: KafkaError | None = None
        self.base_sequence: int | None = None

    def append(self, record: NewRecord) -> int:
        """Append a record and return its index in the batch."""
        builder = self.builder
        index = builder.append(
            record.key, record.value, timestamp=record.timestamp, headers=record.headers
        )
        self.reserved += record.size
        self.size = builder.uncompressed_size
        return index

    def halves(self) -> list["ProducerBatch"]:
        """Return two batches with the records of this one, which they replace."""
        count = self.builder.count // 2
        results = self.result.split((count, self.builder.count - count))
        made: list[ProducerBatch] = []
        for builder, result in zip(self.builder.split(count), results, strict=True):
            half = ProducerBatch(
                result.partition,
                builder,
                number=(*self.number, len(made)),
                created_ms=self.created_ms,
            )
            half.result, half.attempts, half.is_full = result, self.attempts, True
            half.size = builder.uncompressed_size
            half.reserved = self.reserved * builder.count // self.builder.count
            made.append(half)
        made[-1].reserved = self.reserved - made[0].reserved
        if self.base_sequence is not None:
            fields = self.builder.fields
            identity = ProducerIdentity(
                fields.producer_id, fields.producer_epoch, fields.is_transactional
            )
            made[0].set_sequence(identity, self.base_sequence)
            made[1].set_sequence(identity, increment_sequence(self.base_sequence, count))
        return made

    def set_sequence(self, identity: ProducerIdentity, base_sequence: int) -> None:
        """Set producer id, epoch and base sequence, replacing earlier ones."""
        self.base_sequence = base_sequence
        self.builder.fields = self.builder.fields._replace(
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=base_sequence,
            is_transactional=identity.is_transactional,
        )


class PartitionQueue:
    """Batches of one partition."""

    def __init__(self, partition: TopicPartition, fields: BatchFields, *, batch_size: int) -> None:
        self.partition = partition
        self.waiting: deque[ProducerBatch] = deque()
        self.in_flight: list[ProducerBatch] = []
        self.identity: ProducerIdentity | None = None
        self.used_ms = 0.0
        self._fields = fields
        self._batch_size = batch_size
        self._created = 0
        self._next_sequence = 0
        self._next_acknowledged = 0
        self._is_restart_due = False
        self._is_begun = True  # only an identity makes a first batch wait alone

    def append(self, new: NewRecord | NewBatch, now_ms: float) -> RecordAppendResult:
        """Append a record or an encoded batch."""
        if isinstance(new, NewBatch):
            return self._append_batch(new, now_ms)
        return self._append_record(new, now_ms)

    def _append_record(self, record: NewRecord, now_ms: float) -> RecordAppendResult:
        last = self.waiting[-1] if self.waiting else None
        is_new = last is None or last.is_full or last.size + record.size > self._batch_size
        if last is None or is_new:
            last = self._new_batch(BatchBuilder(self._fields), now_ms)
        index = last.append(record)
        last.is_full = last.size >= self._batch_size
        if is_new:
            self._add(last)
        return RecordAppendResult(last.result, index, is_new or last.is_full)

    def _append_batch(self, new: NewBatch, now_ms: float) -> RecordAppendResult:
        batch = self._new_batch(BatchBuilder.of_encoded(new.records, self._fields), now_ms)
        batch.size = batch.reserved = new.size
        batch.is_full = True
        self._add(batch)
        return RecordAppendResult(batch.result, 0, is_wakeup_due=True)

    def _new_batch(self, builder: BatchBuilder, now_ms: float) -> ProducerBatch:
        self.used_ms = now_ms
        return ProducerBatch(self.partition, builder, number=(self._created,), created_ms=now_ms)

    def _add(self, batch: ProducerBatch) -> None:
        """Append a batch to the waiting ones, and close the last of them."""
        if self.waiting:
            self.waiting[-1].is_full = True
        self._created += 1
        self.waiting.append(batch)

    @property
    def next_batch(self) -> ProducerBatch | None:
        """The batch to be sent next; None if none waits or may be sent before an answer."""
        if not self.waiting:
            return None
        must_be_alone = self._is_restart_due or not self._is_begun
        is_window_full = self.identity is not None and len(self.in_flight) >= RETAINED_BATCHES
        return None if self.in_flight and (must_be_alone or is_window_full) else self.waiting[0]

    @property
    def oldest_pending_ms(self) -> float | None:
        """When the oldest batch was created whose result is pending; None without one."""
        waiting = next((each for each in self.waiting if not each.result.is_done), None)
        pending = [each for each in (*self.in_flight, waiting) if each and not each.result.is_done]
        return min((each.created_ms for each in pending), default=None)

    def take(self, identity: ProducerIdentity | None) -> ProducerBatch:
        """Remove and return the first batch, to be sent now."""
        if identity is not None and not self.waiting[0].is_uncertain:
            self._start(identity)
        batch = self.waiting.popleft()
        if self.identity is not None and batch.base_sequence is None:
            batch.set_sequence(self.identity, self._next_sequence)
            self._next_sequence = increment_sequence(self._next_sequence, batch.builder.count)
        batch.attempts += 1
        batch.is_full = True
        self.in_flight.append(batch)
        return batch

    def acknowledge(self, batch: ProducerBatch) -> None:
        """Remove a batch that the broker has acknowledged."""
        self.in_flight.remove(batch)
        if batch.base_sequence is not None:
            self._is_begun = True
            if not self.is_written(batch):
                self._next_acknowledged = increment_sequence(
                    batch.base_sequence, batch.builder.count
                )

    def retry(self, batch: ProducerBatch, not_before_ms: float) -> None:
        """Put a batch back in its place, to be retried."""
        self.in_flight.remove(batch)
        batch.not_before_ms = not_before_ms
        self._put_back(batch)

    def split(self, batch: ProducerBatch) -> None:
        """Put the halves of a batch in its place."""
        self.in_flight.remove(batch)
        for half in batch.halves():
            self._put_back(half)

    def give_up(self, batch: ProducerBatch) -> None:
        """Remove a failed batch, which may or may not have been written."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)
        else:
            self.waiting.remove(batch)
        if batch.base_sequence is not None:
            self.restart()

    def expire(self, batch: ProducerBatch) -> None:
        """Remove a batch whose delivery timeout is over, unless it may have been written."""
        if batch not in self.in_flight and not self.is_unresolved(batch):
            self.give_up(batch)

    def may_be_written(self, batch: ProducerBatch) -> bool:
        """Return whether a pending batch may be in the log."""
        return batch.is_uncertain or batch in self.in_flight

    def is_unresolved(self, batch: ProducerBatch) -> bool:
        """Return whether a batch has to be sent until a broker answers about it."""
        return batch.is_uncertain and batch.base_sequence is not None

    def restart(self) -> None:
        """Restart the sequences as soon as no batch is in flight."""
        self._is_restart_due = True

    def is_next(self, batch: ProducerBatch) -> bool:
        """Return whether every batch before this one is acknowledged."""
        return batch.base_sequence == self._next_acknowledged

    def is_gap_final(self, batch: ProducerBatch) -> bool:
        """Return whether no awaited response can explain a sequence gap before this batch.

        An earlier batch may close it.
        """
        return self.is_next(batch) and not self.may_be_forgotten(batch)

    def may_be_forgotten(self, batch: ProducerBatch) -> bool:
        """Return whether the gap before a batch may mean that the leader has forgotten it.

        A leader that has restarted knows only the last batch of each producer, and reports a gap
        for the others. If the batch was sent before without a response, a later one that may be in
        the log decides. Its own gap proves that it is not, once no later one is in doubt. A later
        one that is sent again after such a proof decides nothing: it cannot be appended first.
        """
        return batch.is_uncertain and (
            any(each.number > batch.number and _is_in_doubt(each) for each in self.in_flight)
            or any(each.number > batch.number and each.is_uncertain for each in self.waiting)
        )

    def is_forgotten(self, batch: ProducerBatch, error: KafkaError) -> bool:
        """Return whether this error leaves open whether a batch is in the log: see above."""
        return isinstance(error, OutOfOrderSequenceNumberError) and self.may_be_forgotten(batch)

    def is_written(self, batch: ProducerBatch) -> bool:
        """Return whether a later batch is acknowledged: brokers append sequences in order."""
        if batch.base_sequence is None:
            return False
        return 0 < (self._next_acknowledged - batch.base_sequence) & INT32_MAX <= INT32_MAX // 2

    def needs_new_producer_id(self, identity: ProducerIdentity) -> bool:
        """Return whether a restart needs another producer id, because the epochs are used up."""
        return (
            self._is_restart_due
            and self.identity is not None
            and self.identity.producer_id == identity.producer_id
            and self.identity.epoch >= LAST_EPOCH
        )

    def _put_back(self, batch: ProducerBatch) -> None:
        index = sum(each.number < batch.number for each in self.waiting)
        self.waiting.insert(index, batch)

    def _start(self, identity: ProducerIdentity) -> None:
        """Adopt the producer's identity if it is the first one, or if it may be replaced now."""
        mine = self.identity
        if mine is None or (mine.producer_id != identity.producer_id and not self._has_sequences()):
            self._begin(identity)
        elif self._is_restart_due:
            is_other = mine.producer_id != identity.producer_id
            self._begin(
                identity if is_other else ProducerIdentity(mine.producer_id, mine.epoch + 1)
            )
            for batch in self.waiting:
                if batch.base_sequence is not None:
                    batch.set_sequence(self.identity or identity, self._next_sequence)
                    batch.is_uncertain = False
                    self._next_sequence = increment_sequence(
                        self._next_sequence, batch.builder.count
                    )

    def _begin(self, identity: ProducerIdentity) -> None:
        self.identity = identity
        self._next_sequence = self._next_acknowledged = 0
        self._is_restart_due = self._is_begun = False

    def _has_sequences(self) -> bool:
        return bool(self.in_flight) or any(
            batch.base_sequence is not None for batch in self.waiting
        )


def _is_in_doubt(sent: ProducerBatch) -> bool:
    """Return whether a batch in flight may be in the log, as far as its earlier answers show."""
    return sent.is_uncertain or sent.attempts == 1
