"""From the bytes of a fetch to records: what lies before the position, markers of transactions and
what was aborted are left out; checksums are checked.

The first batch may begin before the position, the last one may be cut off. A position moves over
every whole batch, also over one of which nothing is left.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple

from cordwood.client.serializers import Deserializers, ReadK, ReadV
from cordwood.core.binary import Buffer
from cordwood.core.types import TopicPartition
from cordwood.records.batch import RecordBatch
from cordwood.records.chunk import AbortedProducers, AbortedTransaction, Step, step_of
from cordwood.records.control import EndTransaction, read_control
from cordwood.records.record import Header, Record, TimestampType
from cordwood.records.stream import AnyBatch, batches


class ConsumedRecord(NamedTuple, Generic[ReadK, ReadV]):
    """A record that was read; a null key or value is None."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: ReadK | None
    value: ReadV | None
    headers: tuple[Header, ...]
    leader_epoch: int


@dataclass(frozen=True, kw_only=True)
class RecordSet:
    """What a fetch has brought of one partition."""

    partition: TopicPartition
    data: Buffer
    offset: int
    aborted: tuple[AbortedTransaction, ...] | None = None
    check_crcs: bool = True

    @cached_property
    def end(self) -> tuple[int, int]:
        """The offset behind the last whole batch, and its leader epoch."""
        end, epoch = self.offset, -1
        for batch in batches(self.data):
            if batch.next_offset > end:
                end = batch.next_offset
                epoch = _epoch_of(batch)
        return end, epoch

    def records(self, read: Deserializers[ReadK, ReadV]) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        """Yield the records; a fault names the partition and comes after all records before it."""
        with self.naming_faults():
            for batch, records in self._batches():
                yield from self._consumed(records, _epoch_of(batch), read)

    @contextmanager
    def naming_faults(self) -> Iterator[None]:
        """Let errors say where they are from, a deserializer's too."""
        try:
            yield
        except Exception as error:
            error.add_note(f"read from {self.partition}; seek behind it to go on without")
            raise

    def _consumed(
        self, records: Iterator[Record], epoch: int, read: Deserializers[ReadK, ReadV]
    ) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        topic, partition = self.partition
        read_key, read_value = read.key, read.value
        for record in records:
            if record.offset >= self.offset:
                key, value = record.key, record.value
                yield ConsumedRecord(
                    topic,
                    partition,
                    record.offset,
                    record.timestamp,
                    record.timestamp_type,
                    None if key is None else read_key(key),
                    None if value is None else read_value(value),
                    record.headers,
                    epoch,
                )

    def _batches(self) -> Iterator[tuple[AnyBatch, Iterator[Record]]]:
        """Yield each batch that has records for the reader."""
        aborted = None if self.aborted is None else AbortedProducers(self.aborted)
        for batch in batches(self.data):
            step = self._step(batch, aborted)
            if step is Step.SKIP:
                continue
            if self.check_crcs:
                batch.ensure_valid()
            if step is Step.ROWS:
                yield batch, batch.records()
            elif step is Step.END and isinstance(batch, RecordBatch) and _is_abort(batch):
                assert aborted is not None, "only what is dropped has an end"
                aborted.end(batch.producer_id)

    def _step(self, batch: AnyBatch, aborted: AbortedProducers | None) -> Step:
        is_outside = batch.next_offset <= self.offset
        if not isinstance(batch, RecordBatch):
            return Step.SKIP if is_outside else Step.ROWS
        return step_of(
            aborted,
            producer_id=batch.producer_id,
            last_offset=batch.last_offset,
            is_control=batch.is_control,
            is_transactional=batch.is_transactional,
            is_outside=is_outside,
        )


def _is_abort(batch: RecordBatch) -> bool:
    markers = [read_control(record) for record in batch.records()]
    return any(isinstance(each, EndTransaction) and not each.is_commit for each in markers)


def _epoch_of(batch: AnyBatch) -> int:
    return batch.partition_leader_epoch if isinstance(batch, RecordBatch) else -1
