"""The partitions that paths stand for.

directory of a partition   that one
log directory              all that are in it
file of a segment          of its partition that segment alone
topic                      all that log directories have of it, or the one that has its number too
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Files, Kind
from cordwood.storage.atomic import directory_of
from cordwood.storage.names import parse_segment_name
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_place import (
    has_logs,
    open_reader,
    partition_of,
    partition_paths,
    reader_of,
)


class Place(NamedTuple):
    """A partition to be looked at, or of it the one segment with a base offset."""

    reader: PartitionReader
    only: int | None = None


def places_at(files: Files, path: str) -> Iterator[Place]:
    """Yield what is at a path; LogDirectoryError where there is no log."""
    if is_log_directory(files, path):
        for each in partition_paths(files, path):
            yield Place(reader_of(files, each))
    elif files.stat(path).is_directory:
        yield Place(open_reader(files, path))
    else:
        name = parse_segment_name(path.rpartition("/")[2])
        if name is None or name.suffix or files.stat(path).kind is not Kind.FILE:
            raise LogDirectoryError(
                "is no file of a segment",
                path=path,
                remedy="give a directory, or a file like 00000000000000000000.log",
            )
        yield Place(reader_of(files, directory_of(path)), name.base_offset)


def is_log_directory(files: Files, path: str) -> bool:
    """Whether a path is a directory without segments of its own."""
    if not files.stat(path).is_directory:
        return False
    return not has_logs(files, path)


def paths_of(files: Files, name: str, *, log_directories: Sequence[str]) -> list[str]:
    """Return the directories of a topic's partitions, or of the one partition with that name."""
    paths = (each for parent in log_directories for each in partition_paths(files, parent))
    found = {partition: path for path in paths if (partition := partition_of(path)) is not None}
    of_topic = sorted(partition for partition in found if partition.topic == name)
    meant = of_topic or [partition for partition in found if str(partition) == name]
    if not meant:
        raise LogDirectoryError(
            f"has no partition of {name}",
            path=", ".join(log_directories),
            remedy="check the topic's name, and whether the partition is in another log directory",
        )
    return [found[partition] for partition in meant]
