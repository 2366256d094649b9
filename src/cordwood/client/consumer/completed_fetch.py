"""Fetched bytes of one partition, decoded into records on demand (Java: `CompletedFetch`).

    completed_fetch   verifies the batches of a response, before any field of them is used
    CompletedFetch    the batches up to the first damaged one

Records before the position, control records and aborted records are left out. The first batch may
begin before the position. The position advances past every whole batch, including one without any
record for the reader.

Damage is a wrong checksum, an impossible header, or an offset that does not advance. The checksum
does not cover a batch's base offset, so a batch that ends before the position is damage as well. A
broker returns at least one whole batch, so bytes without a whole batch are damage too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple

from cordwood.client.serializers import Deserializers, ReadK, ReadV
from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import CorruptMessageError
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition
from cordwood.records.batch_stream import AnyBatch, batches, ensure_whole
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
    """Verified batches of one partition; `completed_fetch` makes them.

    `end` is the offset after the last batch, and that batch's leader epoch.
    """

    partition: TopicPartition
    data: Buffer
    offset: int
    end: tuple[int, int]
    aborted: tuple[AbortedTransaction, ...] | None = None

    def records(self, read: Deserializers[ReadK, ReadV]) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        """Yield the records; an error comes after all records before it."""
        for batch, records in self._batches():
            yield from self._consumed(records, _epoch_of(batch), read)

    def plain_records(self) -> Iterator[Record]:
        """Yield the records as their batches have them."""
        for _, records in self._batches():
            yield from (each for each in records if each.offset >= self.offset)

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


def completed_fetch(
    partition: TopicPartition,
    data: Buffer,
    *,
    offset: int,
    aborted: tuple[AbortedTransaction, ...] | None = None,
    check_crcs: bool = True,
) -> tuple[CompletedFetch, CorruptMessageError | None]:
    """Return the whole batches of a response up to the first damaged one, and its error.

    `offset` is the offset that the request named. Without `check_crcs`, checksums are not compared.
    """
    end, size, damage = offset, 0, None
    epoch: int = NO_LEADER_EPOCH
    view = bytes_view(data)
    try:
        for batch in batches(view):
            if check_crcs:
                batch.ensure_valid()
            if batch.next_offset > end:
                end, epoch = batch.next_offset, _epoch_of(batch)
            elif isinstance(batch, RecordBatch):
                raise batch.place.corrupt(
                    "a batch that ends before the position",
                    expected=f"a last offset of at least {end}",
                    found=batch.last_offset,
                )
            size = batch.end
        if end == offset:
            ensure_whole(view, size)
    except CorruptMessageError as error:
        damage = CorruptMessageError(
            f"{partition}: the batch at offset {end} is damaged: {error}; seek past it to skip it"
        )
        damage.__cause__ = error
    whole = CompletedFetch(
        partition=partition, data=view[:size], offset=offset, end=(end, epoch), aborted=aborted
    )
    return whole, damage


def _is_abort(batch: RecordBatch) -> bool:
    markers = [read_control(record) for record in batch.records()]
    return any(isinstance(each, EndTransaction) and not each.is_commit for each in markers)


def _epoch_of(batch: AnyBatch) -> int:
    return batch.partition_leader_epoch if isinstance(batch, RecordBatch) else -1
