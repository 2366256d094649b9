"""What the driver finds out about directories: which partitions there are, and from where to where.

Everything is looked up once, before any task begins: "latest" is an offset from then on, so that a
task that runs twice, or a DataFrame that is used twice within a plan, reads the same.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Final

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.spark.options import EARLIEST, LATEST, Bound, SourceOptions
from cordwood.spark.splits import Range
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_place import has_logs, open_reader, partition_of, partition_paths
from cordwood.storage.reader_transactions import ReaderTransactions

_NAMED: Final = "name it as <topic>-<partition>"


def find_logs(files: Files, options: SourceOptions) -> Mapping[TopicPartition, str]:
    """Return the directories of the partitions that are wanted, of all paths together."""
    found: dict[TopicPartition, str] = {}
    for path in options.paths:
        for directory in _directories(files, path):
            partition = _partition_of(directory)
            if not options.topics.has(partition):
                continue
            if partition in found:
                raise LogDirectoryError(
                    f"has {partition}, which {found[partition]} is too",
                    path=directory,
                    remedy="give one path for each partition",
                )
            found[partition] = directory
    return dict(sorted(found.items()))


def resolve(reader: PartitionReader, partition: TopicPartition, *, options: SourceOptions) -> Range:
    """Return the offsets that are wanted of a log and that it has, as it is now."""
    bounds = reader.offsets()
    end = bounds.log_end
    if options.is_committed:
        end = min(end, ReaderTransactions(reader).last_stable_offset())
    start = _offset(reader, options.starting, partition, limits=(bounds.log_start, end))
    stop = _offset(reader, options.ending, partition, limits=(bounds.log_start, end))
    return Range(partition, max(start, bounds.log_start), min(stop, end))


def open_log(files: Files, path: str) -> closing[PartitionReader]:
    """Return a reader of a partition's directory, for a `with`."""
    return closing(open_reader(files, path))


def _offset(
    reader: PartitionReader, bound: Bound, partition: TopicPartition, *, limits: tuple[int, int]
) -> int:
    """Return the offset that a bound stands for; a time that nothing has reached is the end."""
    value = bound.of(partition)
    if value in (EARLIEST, LATEST):
        return limits[0] if value == EARLIEST else limits[1]
    if not bound.is_time:
        return value
    found = reader.offset_for_timestamp(value)
    return limits[1] if found is None else found.offset


def _directories(files: Files, path: str) -> list[str]:
    path = path.removeprefix("file://")
    return [path] if _is_partition(files, path) else partition_paths(files, path)


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
