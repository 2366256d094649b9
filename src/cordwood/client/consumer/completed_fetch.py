"""Fetched bytes of one partition, decoded into records on demand (Java: `CompletedFetch`).

Records before the position, control records and aborted records are left out. Checksums are
verified.

The first batch may begin before the position, and the last one may be incomplete. The position
advances past every whole batch, including one without any record for the reader.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple

from cordwood.client.serializers import Deserializers, ReadK, ReadV
from cordwood.core.binary import Buffer
from cordwood.core.types import TopicPartition
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.control_records import EndTransaction, read_control
from cordwood.records.decoder import AbortedProducers, AbortedTransaction, Step, step_of
from cordwood.records.record import Header, Record, TimestampType
from cordwood.records.record_batch import RecordBatch


class ConsumedRecord(NamedTuple, Generic[ReadK, ReadV]):
    """A consumed record (Java: `ConsumerRecord`); a null key or value is None."""

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
class CompletedFetch:
    """Fetched bytes of one partition."""

    partition: TopicPartition
    data: Buffer
    offset: int
    aborted: tuple[AbortedTransaction, ...] | None = None
    check_crcs: bool = True

    @cached_property
    def end(self) -> tuple[int, int]:
        """The offset after the last whole batch, and that batch's leader epoch."""
        end, epoch = self.offset, -1
        for batch in batches(self.data):
            if batch.next_offset > end:
                end = batch.next_offset
                epoch = _epoch_of(batch)
        return end, epoch

    def records(self, read: Deserializers[ReadK, ReadV]) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        """Yield the records; an error names the partition and comes after all records before it."""
        with self.annotate_errors():
            for batch, records in self._batches():
                yield from self._consumed(records, _epoch_of(batch), read)

    @contextmanager
    def annotate_errors(self) -> Iterator[None]:
        """Add the partition to errors, also to those of a deserializer."""
        try:
            yield
        except Exception as error:
            error.add_note(f"read from {self.partition}; seek past the record to skip it")
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
                assert aborted is not None, "only an aborted transaction ends with Step.END"
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
