"""Partition directories as a source: their partitions and their offsets.

The end of a directory is fixed when it is examined, also if a broker still writes there. It is the
high watermark (`high_watermarks`), unless the caller asks for the log end. Under read_committed it
is the last stable offset, because the outcome of an open transaction is unknown.

A log that was closed in order has no torn tail and does not end below its high watermark. So such
an end is damage, while the marker of the clean shutdown exists.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import CorruptMessageError, DamagedFileError, LogDirectoryError
from cordwood.core.ports import Files
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, Offset, TopicPartition
from cordwood.core.uuids import format_uuid
from cordwood.spark.source.coverage import (
    AvailableRange,
    KnownEnd,
    PartitionDirectory,
    TopicIdentity,
)
from cordwood.spark.source.high_watermarks import HighWatermarks
from cordwood.spark.source.source_options import TopicChoice
from cordwood.storage.checkpoints.checkpoint_files import LEADER_EPOCHS, read_epoch_checkpoint
from cordwood.storage.checkpoints.clean_shutdown_file import read_clean_shutdown
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.header_scan import headers
from cordwood.storage.reader.offset_gaps import is_cleaned
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import (
    has_logs,
    partition_of,
    partition_paths,
    reader_of,
)
from cordwood.storage.reader.reader_segment import ReaderSegment, with_location
from cordwood.storage.reader.transaction_reader import TransactionReader

_REMEDY: Final = "rename it to <topic>-<partition>"


class DirectoryOffsetReader:
    """Answers `OffsetReader` from partition directories."""

    def __init__(
        self,
        files: Files,
        paths: Mapping[TopicPartition, str],
        *,
        topics: Collection[str] = (),
        is_committed: bool = False,
        is_to_log_end: bool = False,
        watermarks: HighWatermarks | None = None,
    ) -> None:
        """Read up to the high watermarks, those of `files` by default, or to the log ends."""
        self._files = files
        self._paths = paths
        self._topics = topics
        self._is_committed = is_committed
        self._watermarks = None if is_to_log_end else watermarks or HighWatermarks(files)
        self._log_ends: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}

    def topics(self) -> Collection[str]:
        return self._topics

    def partitions(self) -> Collection[TopicPartition]:
        return self._paths

    def available(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[AvailableRange]]:
        found = {}
        for partition, path in self._paths.items():
            if partition in wanted:
                with open_log(self._files, path) as reader:
                    found[partition] = self._available(partition, reader)
        return found

    def _available(
        self, partition: TopicPartition, reader: PartitionReader
    ) -> list[AvailableRange]:
        # The watermark is read before the log end, which a live broker only increases.
        path = reader.source.path
        limit = None if self._watermarks is None else self._watermarks.limit_of(path)
        ranges, log_end = available_ranges(reader, is_committed=self._is_committed, limit=limit)
        _check_clean_end(self._files, reader, limit=limit)
        self._log_ends[partition], self._ends[partition] = log_end, ranges[-1].end
        return ranges

    def log_ends(self) -> Mapping[TopicPartition, int]:
        return self._log_ends

    def leader_epochs(self, wanted: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        found = {}
        for partition, end in self._ends.items():
            if partition in wanted:
                path = self._paths[partition]
                epochs = [entry.epoch for entry in self._epochs(path)]
                with open_log(self._files, path) as reader:
                    batch = reader.find(end - 1) if end else None
                if batch is not None:
                    epochs.append(LeaderEpoch(batch.header.partition_leader_epoch))
                if max(epochs, default=NO_LEADER_EPOCH) > NO_LEADER_EPOCH:
                    found[partition] = int(max(epochs))
        return found

    def truncated_ends(
        self, known: Mapping[TopicPartition, KnownEnd]
    ) -> Mapping[TopicPartition, int]:
        found = {}
        for partition, (end, epoch) in known.items():
            path = self._paths.get(partition)
            if path is None or epoch is None or not end:
                continue
            starts = [each.start_offset for each in self._epochs(path) if each.epoch > epoch]
            with open_log(self._files, path) as reader:
                batch = reader.find(end - 1)
            if batch is not None and batch.header.partition_leader_epoch > epoch:
                starts.append(Offset(batch.header.base_offset))
            if min(starts, default=end) < end:
                found[partition] = int(min(starts))
        return found

    def _epochs(self, path: str) -> list[EpochEntry]:
        return read_epoch_checkpoint(self._files, f"{path}/{LEADER_EPOCHS}")

    def topic_ids(self) -> Mapping[TopicPartition, TopicIdentity]:
        found = {each: self._topic_id(path) for each, path in self._paths.items()}
        return {
            each: TopicIdentity(topic_id, self._paths[each])
            for each, topic_id in found.items()
            if topic_id is not None
        }

    def _topic_id(self, path: str) -> str | None:
        """Return the topic id in a directory; a damaged metadata file does not prevent reading."""
        try:
            topic_id = read_partition_metadata(self._files, path)
        except DamagedFileError:
            return None
        return None if topic_id is None else format_uuid(topic_id)

    def offsets_for_times(
        self, wanted: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        found = {}
        for partition, timestamp in wanted.items():
            if partition in self._paths:
                with open_log(self._files, self._paths[partition]) as reader:
                    record = reader.offset_for_timestamp(timestamp)
                is_readable = record is not None and record.offset < self._ends.get(
                    partition, INT64_MAX
                )
                found[partition] = record.offset if record is not None and is_readable else None
        return found


def find_directories(
    files: Files,
    path: str,
    *,
    choice: TopicChoice,
    is_committed: bool,
    is_to_log_end: bool = False,
) -> DirectoryOffsetReader:
    """Return the directories of the selected partitions under a path."""
    found = dict(directories_of(files, [path]))
    return DirectoryOffsetReader(
        files,
        {each: directory for each, directory in found.items() if choice.includes(each)},
        topics={each.topic for each in found},
        is_committed=is_committed,
        is_to_log_end=is_to_log_end,
    )


def directories_of(files: Files, paths: Sequence[str]) -> Iterator[tuple[TopicPartition, str]]:
    """Yield the partition directories of log directories, and those that are paths themselves."""
    for directory in _directories(files, paths):
        yield _partition_of(directory), directory


def available_ranges(
    reader: PartitionReader, *, is_committed: bool, limit: int | None = None
) -> tuple[list[AvailableRange], int]:
    """Return the ranges of the log in a directory, and its log end; missing segments split it.

    The ranges end at the high watermark `limit`; under read_committed a marker after it decides
    nothing.
    """
    bounds = reader.offsets()
    end, source = bounds.log_end, PartitionDirectory(reader.source.path)
    if limit is not None:
        end = max(bounds.log_start, min(end, limit))
    if is_committed:
        end = min(end, TransactionReader(reader).last_stable_offset(end))
    ranges, start = [], bounds.log_start
    for lost, found in missing_segments(reader):
        ranges.append(AvailableRange(start, min(lost, end), source))
        start = max(start, found)
    ranges.append(AvailableRange(start, end, source))
    non_empty = [each for each in ranges if each.start < each.end]
    return non_empty or [AvailableRange(bounds.log_start, bounds.log_start, source)], bounds.log_end


def _check_clean_end(files: Files, reader: PartitionReader, *, limit: int | None) -> None:
    """Reject the end of a log that was closed in order, and ends in damage."""
    path = reader.source.path
    bounds = reader.offsets()
    is_cut = limit is not None and bounds.log_end < limit
    if not is_cut and not bounds.tail_bytes:
        return
    # The owner removes the marker before it opens a log.
    if read_clean_shutdown(files, directory_of(path)) is None:
        return
    facts = f"{bounds.tail_bytes} bytes after offset {bounds.log_end}, high watermark {limit}"
    raise LogDirectoryError(
        f"its end is damaged although its log was closed in order ({facts})",
        path=path,
        remedy="run cordwood log verify, and restore the partition from a replica",
    )


def missing_segments(reader: PartitionReader) -> list[tuple[int, int]]:
    """Return the offsets between two segments that neither has, unless compaction removed them.

    A log loses files, not batches, so segments are not searched for gaps. A gap between two
    segments is compaction's if it is below the cleaner checkpoint, or if the batches of either
    segment show that they were cleaned.
    """
    return reader.retry_on_change(lambda: list(_missing_segments(reader)))


def open_log(files: Files, path: str) -> closing[PartitionReader]:
    """Return a reader of a partition directory as a context manager; it may have no segments."""
    return closing(reader_of(files, path))


def _missing_segments(reader: PartitionReader) -> Iterator[tuple[int, int]]:
    cleaned_to = reader.checkpoints().cleaned_to
    for before, after in pairwise(reader.open_segments()):
        lost, found = before.end_offset(), after.base_offset
        if max(lost, cleaned_to) < found and not (_is_cleaned(before) or _is_cleaned(after)):
            yield lost, found


def _is_cleaned(segment: ReaderSegment) -> bool:
    try:
        return is_cleaned(headers(segment.view.pread, 0, segment.view.size))
    except CorruptMessageError as error:
        raise with_location(error, segment.log_path) from error


def _directories(files: Files, paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if _is_partition(files, path):
            yield path
        else:
            yield from partition_paths(files, path)


def _is_partition(files: Files, path: str) -> bool:
    try:
        return has_logs(files, path)
    except OSError:
        return False


def _partition_of(path: str) -> TopicPartition:
    partition = partition_of(path)
    if partition is None:
        raise LogDirectoryError("its name is not that of a partition", path=path, remedy=_REMEDY)
    return partition
