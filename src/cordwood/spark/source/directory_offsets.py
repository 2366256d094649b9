"""Partition directories as a source: their partitions and their offsets.

The end of a directory is fixed when it is examined, also if a broker still writes there. Under
read_committed the end is the last stable offset, because the outcome of an open transaction is
unknown.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Final

from cordwood.core.errors import CorruptMessageError, DamagedFileError, LogDirectoryError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import format_uuid
from cordwood.spark.source.coverage import AvailableRange, PartitionDirectory, TopicIdentity
from cordwood.spark.source.source_options import TopicChoice
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
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
    ) -> None:
        self._files = files
        self._paths = paths
        self._topics = topics
        self._is_committed = is_committed

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
                    found[partition] = available_ranges(reader, is_committed=self._is_committed)
        return found

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
                found[partition] = None if record is None else record.offset
        return found


def find_directories(
    files: Files, paths: Sequence[str], *, choice: TopicChoice, is_committed: bool
) -> DirectoryOffsetReader:
    """Return the directories of the selected partitions under all paths."""
    found: dict[TopicPartition, str] = {}
    topics = set()
    for directory in _directories(files, paths):
        partition = _partition_of(directory)
        topics.add(partition.topic)
        if not choice.includes(partition):
            continue
        if partition in found:
            raise LogDirectoryError(
                f"{partition} is also in {found[partition]}",
                path=directory,
                remedy="give one path per partition",
            )
        found[partition] = directory
    return DirectoryOffsetReader(files, found, topics=topics, is_committed=is_committed)


def available_ranges(reader: PartitionReader, *, is_committed: bool) -> list[AvailableRange]:
    """Return the ranges of the log in a directory; missing segments split it."""
    bounds = reader.offsets()
    end, source = bounds.log_end, PartitionDirectory(reader.source.path)
    if is_committed:
        end = min(end, TransactionReader(reader).last_stable_offset())
    ranges, start = [], bounds.log_start
    for lost, found in missing_segments(reader):
        ranges.append(AvailableRange(start, min(lost, end), source))
        start = max(start, found)
    ranges.append(AvailableRange(start, end, source))
    non_empty = [each for each in ranges if each.start < each.end]
    return non_empty or [AvailableRange(bounds.log_start, bounds.log_start, source)]


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
