"""Log of a partition as a plain list, and the directory that a broker would have of it.

The model knows the state of each record, the high watermark, and each truncation of the log. The
directory is written again after a change: one segment, checkpoints, leader epochs, topic id.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from cordwood.core.system import SystemFiles
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    write_epoch_checkpoint,
    write_offset_checkpoint,
)
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.checkpoints.partition_metadata_file import write_partition_metadata
from tests.unit.storage.reader_samples import name

MOST_RECORDS: Final = 4
#: The share of batches whose records differ in their times only, and this value.
ALIKE: Final = 0.3
HEARTBEAT: Final = b"alive"
_NO_PRODUCER: Final = -1
_MARKER_TIME: Final = 1000


class ModelRecord(NamedTuple):
    """The value and the timestamp of a record."""

    value: bytes
    timestamp: int


class ModelBatch(NamedTuple):
    """A batch: records by offset, or a marker without records."""

    base: int
    end: int
    records: dict[int, ModelRecord]
    epoch: int
    producer: int = _NO_PRODUCER
    is_commit: bool | None = None

    @property
    def is_marker(self) -> bool:
        return self.is_commit is not None


class Truncation(NamedTuple):
    """The log lost its records from an offset on, at a time of the history."""

    time: int
    offset: int


@dataclass(slots=True)
class ModelLog:
    """The log of one partition."""

    partition: TopicPartition
    topic_id: Uuid
    batches: list[ModelBatch] = field(default_factory=list)
    start: int = 0
    high_watermark: int = 0
    cleaned_to: int = 0
    epoch: int = 0
    epochs: list[tuple[int, int]] = field(default_factory=list)
    truncations: list[Truncation] = field(default_factory=list)
    open_producer: int | None = None
    is_mounted: bool = True

    @property
    def end(self) -> int:
        return self.batches[-1].end if self.batches else self.start

    def stable_end(self) -> int:
        """Return the last stable offset: only markers below the high watermark decide."""
        first: dict[int, int] = {}
        for batch in self.batches:
            if batch.end > self.high_watermark:
                break
            if batch.is_marker:
                first.pop(batch.producer, None)
            elif batch.producer != _NO_PRODUCER:
                first.setdefault(batch.producer, batch.base)
        return min(first.values(), default=self.high_watermark)

    def committed(self) -> dict[int, ModelRecord]:
        """Return the records of committed transactions, and those without a transaction."""
        found: dict[int, ModelRecord] = {}
        waiting: dict[int, dict[int, ModelRecord]] = {}
        for batch in self.batches:
            if batch.is_marker:
                done = waiting.pop(batch.producer, {})
                found |= done if batch.is_commit else {}
            elif batch.producer != _NO_PRODUCER:
                waiting.setdefault(batch.producer, {}).update(batch.records)
            else:
                found |= batch.records
        return {offset: record for offset, record in found.items() if offset >= self.start}

    # -- what happens to a log

    def append(self, chance: Random, serial: str, *, producer: int = _NO_PRODUCER) -> None:
        count = chance.randint(1, MOST_RECORDS)
        base = self.end
        is_alike, time = chance.random() < ALIKE, 1000 * int(serial)
        records = {
            base + each: ModelRecord(
                HEARTBEAT if is_alike else f"{serial}.{each}".encode(), time + each
            )
            for each in range(count)
        }
        self._add(ModelBatch(base, base + count, records, self.epoch, producer))

    def begin_transaction(self, chance: Random, serial: str, *, producer: int) -> None:
        self.append(chance, serial, producer=producer)
        self.open_producer = producer

    def end_transaction(self, *, is_commit: bool) -> None:
        assert self.open_producer is not None, "a transaction is open"
        marker = ModelBatch(self.end, self.end + 1, {}, self.epoch, self.open_producer, is_commit)
        self._add(marker)
        self.open_producer = None

    def replicate(self, to: int) -> None:
        self.high_watermark = to

    def delete_up_to(self, start: int) -> None:
        """Move the log start, as retention and DeleteRecords do."""
        self.start = start
        end = self.end
        kept = [batch for batch in self.batches if batch.end > start]
        self.batches = kept
        if not kept:
            self.start = end

    def compact(self, chance: Random) -> None:
        """Remove some records below the high watermark, but never those of the last batch."""
        limit = min(self.stable_end(), self.batches[-1].base)
        kept: list[ModelBatch] = []
        for batch in self.batches:
            if batch.is_marker or batch.end > limit:
                kept.append(batch)
                continue
            left = {at: record for at, record in batch.records.items() if chance.random() < 0.6}
            if left:
                kept.append(batch._replace(records=left))
        self.batches, self.cleaned_to = kept, max(self.cleaned_to, limit)

    def fail_over(self, at: int, *, time: int) -> None:
        """Truncate the log to a batch, and begin the next leader epoch."""
        self.batches = [batch for batch in self.batches if batch.end <= at]
        cut = self.end
        self.truncations.append(Truncation(time, cut))
        self.high_watermark = min(self.high_watermark, cut)
        self.cleaned_to = min(self.cleaned_to, cut)
        self.epochs = [entry for entry in self.epochs if entry[1] < cut]
        self.epoch += 1
        self.open_producer = None
        open_ = {batch.producer for batch in self.batches if not batch.is_marker}
        closed: set[int] = set()
        for batch in self.batches:
            if batch.is_marker:
                closed.add(batch.producer)
        left = open_ - closed - {_NO_PRODUCER}
        self.open_producer = min(left, default=None)

    def _add(self, batch: ModelBatch) -> None:
        if not self.epochs or self.epochs[-1][0] != self.epoch:
            self.epochs.append((self.epoch, batch.base))
        self.batches.append(batch)

    # -- its directory

    def write(self, logs: Path) -> None:
        """Replace the directory of the partition."""
        folder = logs / str(self.partition)
        shutil.rmtree(folder, ignore_errors=True)
        if not self.is_mounted:
            return
        folder.mkdir(parents=True)
        data = b"".join(map(_encoded, self.batches))
        # A cleaner keeps the base offset of the first segment.
        first = min(self.start, self.batches[0].base) if self.batches else self.start
        (folder / name(first)).write_bytes(data)
        files = SystemFiles()
        write_partition_metadata(files, str(folder), topic_id=self.topic_id)
        entries = [EpochEntry(LeaderEpoch(epoch), Offset(at)) for epoch, at in self.epochs]
        write_epoch_checkpoint(files, str(folder / LEADER_EPOCHS), entries=entries)


def write_logs(logs: Path, found: list[ModelLog]) -> None:
    """Write the directories of all partitions, and the checkpoints of their log directory."""
    logs.mkdir(exist_ok=True)
    for each in found:
        each.write(logs)
    for file, offsets in (
        (HIGH_WATERMARKS, {each.partition: each.high_watermark for each in found}),
        (LOG_START_OFFSETS, {each.partition: each.start for each in found}),
        (CLEANER_OFFSETS, {each.partition: each.cleaned_to for each in found}),
    ):
        write_offset_checkpoint(
            SystemFiles(), str(logs / file), offsets={at: Offset(to) for at, to in offsets.items()}
        )


def partition(topic: str, number: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


def _encoded(batch: ModelBatch) -> bytes:
    is_transactional = batch.producer != _NO_PRODUCER
    fields = BatchFields(base_offset=batch.base, partition_leader_epoch=batch.epoch)
    if is_transactional:
        fields = fields._replace(producer_id=batch.producer, producer_epoch=0)
    if batch.is_commit is not None:
        return bytes(
            control_batch(EndTransaction(batch.is_commit, 0), fields, timestamp=_MARKER_TIME)
        )
    if is_transactional:
        fields = fields._replace(base_sequence=0, is_transactional=True)
    builder = BatchBuilder(fields)
    for offset, (value, timestamp) in sorted(batch.records.items()):
        builder.append(None, value, timestamp=timestamp, offset=offset)
    return bytes(builder.build(last_offset=batch.end - 1))
