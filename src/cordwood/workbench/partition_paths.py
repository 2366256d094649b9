"""Partitions that command-line paths refer to.

    directory of a partition   that partition
    log directory              all of its partitions
    file of a segment          only that segment of its partition
    topic                      all of its partitions in the log directories
    topic with a number        that one partition in the log directories

All other paths raise LogDirectoryError.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import FileKind, Files
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.file_names import parse_segment_name
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import (
    has_logs,
    open_reader,
    partition_of,
    partition_paths,
    reader_of,
)


class PartitionTarget(NamedTuple):
    """A partition, or only the segment of it whose base offset is `only`."""

    reader: PartitionReader
    only: int | None = None


def find_targets(files: Files, path: str) -> Iterator[PartitionTarget]:
    """Yield the partitions at a path; raise LogDirectoryError if there is no log."""
    if is_log_directory(files, path):
        for each in partition_paths(files, path):
            yield PartitionTarget(reader_of(files, each))
    elif files.stat(path).is_directory:
        yield PartitionTarget(open_reader(files, path))
    else:
        name = parse_segment_name(path.rpartition("/")[2])
        if name is None or name.suffix or files.stat(path).kind is not FileKind.FILE:
            raise LogDirectoryError(
                "is not a segment file",
                path=path,
                remedy="give a directory, or a file such as 00000000000000000000.log",
            )
        yield PartitionTarget(reader_of(files, directory_of(path)), name.base_offset)


def is_log_directory(files: Files, path: str) -> bool:
    """Return whether a path is a directory without segments of its own."""
    if not files.stat(path).is_directory:
        return False
    return not has_logs(files, path)


def find_partition_paths(files: Files, name: str, *, log_directories: Sequence[str]) -> list[str]:
    """Return the directories of the partitions of a topic, or of the partition of that name."""
    paths = (each for parent in log_directories for each in partition_paths(files, parent))
    found = {partition: path for path in paths if (partition := partition_of(path)) is not None}
    of_topic = sorted(partition for partition in found if partition.topic == name)
    matching = of_topic or [partition for partition in found if str(partition) == name]
    if not matching:
        raise LogDirectoryError(
            f"has no partition of {name}",
            path=", ".join(log_directories),
            remedy="check the name of the topic, or give the log directory of the partition",
        )
    return [found[partition] for partition in matching]
