"""What the driver finds in directories: which partitions they are of, and which offsets they have.

A directory that somebody writes to ends where it did when it was looked at. Under read_committed it
ends where a transaction is open, since nobody here knows what will become of it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Final

from cordwood.core.errors import CorruptMessageError, DamagedFileError, LogDirectoryError
from cordwood.core.ids import format_uuid
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.spark.holdings import Holding, TopicOf
from cordwood.spark.options import TopicChoice
from cordwood.storage.partition_metadata import read_partition_metadata
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_gaps import is_cleaned
from cordwood.storage.reader_place import has_logs, partition_of, partition_paths, reader_of
from cordwood.storage.reader_segments import ReaderSegment, located
from cordwood.storage.reader_transactions import ReaderTransactions
from cordwood.storage.scan import headers

_NAMED: Final = "name it as <topic>-<partition>"


class Directories:
    """Partitions' directories as a place."""

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

    def held(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[Holding]]:
        found = {}
        for partition, path in self._paths.items():
            if partition in wanted:
                with open_log(self._files, path) as reader:
                    found[partition] = held_by(reader, is_committed=self._is_committed)
        return found

    def topic_ids(self) -> Mapping[TopicPartition, TopicOf]:
        found = {each: self._topic_id(path) for each, path in self._paths.items()}
        return {
            each: TopicOf(topic_id, self._paths[each])
            for each, topic_id in found.items()
            if topic_id is not None
        }

    def _topic_id(self, path: str) -> str | None:
        """Return what a directory says; what cannot be read there keeps nobody from its records."""
        try:
            topic_id = read_partition_metadata(self._files, path)
        except DamagedFileError:
            return None
        return None if topic_id is None else format_uuid(topic_id)

    def at_times(self, wanted: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        found = {}
        for partition, timestamp in wanted.items():
            if partition in self._paths:
                with open_log(self._files, self._paths[partition]) as reader:
                    place = reader.offset_for_timestamp(timestamp)
                found[partition] = None if place is None else place.offset
        return found


def find_directories(
    files: Files, paths: Sequence[str], *, choice: TopicChoice, is_committed: bool
) -> Directories:
    """Return the directories of the partitions that are wanted, of all paths together."""
    found: dict[TopicPartition, str] = {}
    topics = set()
    for directory in _directories(files, paths):
        partition = _partition_of(directory)
        topics.add(partition.topic)
        if not choice.has(partition):
            continue
        if partition in found:
            raise LogDirectoryError(
                f"has {partition}, which {found[partition]} is too",
                path=directory,
                remedy="give one path for each partition",
            )
        found[partition] = directory
    return Directories(files, found, topics=topics, is_committed=is_committed)


def held_by(reader: PartitionReader, *, is_committed: bool) -> list[Holding]:
    """Return what a directory has of its partition: its log, without segments that are missing."""
    bounds = reader.offsets()
    end, path = bounds.log_end, reader.source.path
    if is_committed:
        end = min(end, ReaderTransactions(reader).last_stable_offset())
    holdings, start = [], bounds.log_start
    for lost, found in missing_segments(reader):
        holdings.append(Holding(start, min(lost, end), path))
        start = max(start, found)
    holdings.append(Holding(start, end, path))
    there = [each for each in holdings if each.start < each.end]
    return there or [Holding(bounds.log_start, bounds.log_start, path)]


def missing_segments(reader: PartitionReader) -> list[tuple[int, int]]:
    """Return the offsets between two segments that neither has, and that no cleaner has taken.

    A log loses files and not batches, so nothing is looked for within a segment. Where one does not
    reach up to the next, a cleaner was at work if it is known to have come so far, or if the
    batches on either side show it.
    """
    return reader.patiently(lambda: list(_missing_segments(reader)))


def open_log(files: Files, path: str) -> closing[PartitionReader]:
    """Return a reader of a partition's directory, which may hold nothing yet, for a `with`."""
    return closing(reader_of(files, path))


def _missing_segments(reader: PartitionReader) -> Iterator[tuple[int, int]]:
    cleaned_to = reader.beside().cleaned_to
    for before, after in pairwise(reader.opened()):
        lost, found = before.end_offset(), after.base_offset
        if max(lost, cleaned_to) < found and not (_is_cleaned(before) or _is_cleaned(after)):
            yield lost, found


def _is_cleaned(segment: ReaderSegment) -> bool:
    try:
        return is_cleaned(headers(segment.view.pread, 0, segment.view.size))
    except CorruptMessageError as error:
        raise located(error, segment.log_path) from error


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
        raise LogDirectoryError("does not say which partition it is", path=path, remedy=_NAMED)
    return partition
