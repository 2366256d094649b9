"""Resolution of a path to readers, with errors for paths of another kind.

    partition       a directory with segments; its name may name the partition
    log directory   a directory of partition directories and of checkpoint files

In a log directory, files and directories that are not partitions of a topic are ignored;
`foreign_directories` names those at which a broker stops. Directories with -delete, -stray and
-future are ignored too. A missing or damaged checkpoint counts as empty, as it does for Kafka.
"""

from difflib import get_close_matches
from functools import partial
from typing import Final, NoReturn

from cordwood.core.counts import first_names
from cordwood.core.errors import DamagedFileError, LogDirectoryError
from cordwood.core.ports import FileKind, Files, FileStat
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.files.file_names import (
    LOG,
    LOST_AND_FOUND,
    NON_PARTITION_DIRECTORIES,
    DirectoryName,
    DirectorySuffix,
    parse_directory_name,
    parse_segment_name,
)
from cordwood.storage.reader.partition_reader import PartitionCheckpoints, PartitionReader

_LOG_DIRECTORY_FILES: Final = frozenset(
    {"meta.properties", CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS}
)


def open_reader(files: Files, path: str) -> PartitionReader:
    """Return a reader of a partition directory; LogDirectoryError if the path is not one."""
    stat = _stat(files, path)
    if not stat.is_directory:
        _raise_for_file(path, "open the directory of a partition")
    if not has_logs(files, path):
        _raise_for_directory(files, path)
    return reader_of(files, path)


def reader_of(files: Files, path: str) -> PartitionReader:
    """Return a reader of a partition directory, which may be empty."""
    return PartitionReader(DirectorySource(files, path), partial(read_checkpoints_of, files, path))


def partition_paths(files: Files, path: str) -> list[str]:
    """Return the partition directories of a log directory."""
    stat = _stat(files, path)
    if not stat.is_directory:
        _raise_for_file(path, "open the log directory that it belongs to")
    names = files.list(path)
    if has_logs(files, path):
        raise LogDirectoryError(
            "is the directory of one partition, not a log directory",
            path=path,
            remedy=f"open it with cordwood.open_log, or all partitions of {directory_of(path)}",
        )
    directories = _directories(files, path)
    if not directories and not _LOG_DIRECTORY_FILES.intersection(names):
        raise LogDirectoryError(
            "has neither partitions nor a broker's files in it" if names else "is empty",
            path=path,
            remedy="give the directory that log.dirs names",
        )
    found = {name: _parsed(path, name) for name in directories}
    if directories and not _LOG_DIRECTORY_FILES.intersection(names) and not any(found.values()):
        raise LogDirectoryError(
            f"has no partitions in it, only {first_names(directories)}",
            path=path,
            remedy="give the directory that log.dirs names",
        )
    return [
        f"{path}/{name}"
        for name, parsed in found.items()
        if parsed is not None and parsed.suffix is DirectorySuffix.NONE
    ]


def foreign_directories(files: Files, path: str) -> list[str]:
    """Return the names of directories in a log directory that are not those of partitions."""
    known = NON_PARTITION_DIRECTORIES - {LOST_AND_FOUND}
    names = (name for name in files.list(path, FileKind.DIRECTORY) if name not in known)
    return [name for name in names if _parsed(path, name) is None]


def _parsed(path: str, name: str) -> DirectoryName | None:
    try:
        return parse_directory_name(name, path=f"{path}/{name}")
    except LogDirectoryError:
        return None


def partition_of(path: str) -> TopicPartition | None:
    """Return the partition in the name of a directory; None if the name has another form."""
    try:
        return parse_directory_name(path.rpartition("/")[2], path=path).partition
    except LogDirectoryError:
        return None


def read_checkpoints_of(files: Files, path: str) -> PartitionCheckpoints:
    """Return the checkpoints of a partition directory in its log directory."""
    name = path.rpartition("/")[2]
    partition = partition_of(path)
    if partition is None or name != str(partition):
        return PartitionCheckpoints()
    log_directory = directory_of(path)
    return PartitionCheckpoints(
        _offset(files, f"{log_directory}/{LOG_START_OFFSETS}", partition),
        _offset(files, f"{log_directory}/{CLEANER_OFFSETS}", partition),
    )


def read_high_watermark(files: Files, path: str) -> int | None:
    """Return the checkpointed high watermark of a partition directory; None without one.

    The checkpoint may be seconds old.
    """
    partition = partition_of(path)
    offsets = read_offset_checkpoint(files, f"{directory_of(path)}/{HIGH_WATERMARKS}")
    return None if partition is None else offsets.get(partition)


def _offset(files: Files, path: str, partition: TopicPartition) -> int:
    try:
        return max(0, read_offset_checkpoint(files, path).get(partition, 0))
    except DamagedFileError:
        return 0


def has_logs(files: Files, path: str) -> bool:
    """Return whether a directory has a segment, with any suffix."""
    parsed = map(parse_segment_name, files.list(path, FileKind.FILE))
    return any(each is not None and each.extension == LOG for each in parsed)


def _directories(files: Files, path: str) -> list[str]:
    """Return the names of directories, except those that Kafka ignores."""
    return [
        name
        for name in files.list(path, FileKind.DIRECTORY)
        if name not in NON_PARTITION_DIRECTORIES
    ]


def _stat(files: Files, path: str) -> FileStat:
    try:
        return files.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LogDirectoryError(
            "does not exist", path=path, remedy=_nearest(files, path)
        ) from error


def _nearest(files: Files, path: str) -> str:
    """Return a remedy with the names that are similar to the path."""
    parent, name = directory_of(path), path.rpartition("/")[2]
    try:
        names = files.list(parent, FileKind.DIRECTORY) or files.list(parent)
    except OSError:
        return f"{parent} does not exist either: check the path"
    near = get_close_matches(name, names, n=1)
    if near:
        return f"did you mean {path.removesuffix(name)}{near[0]}?"
    return f"{parent} has {first_names(names)}" if names else f"{parent} is empty: check the path"


def _raise_for_file(path: str, remedy: str) -> NoReturn:
    if parse_segment_name(path.rpartition("/")[2]) is not None:
        remedy = f"{remedy}: {directory_of(path)}"
    raise LogDirectoryError("is a file", path=path, remedy=remedy)


def _raise_for_directory(files: Files, path: str) -> NoReturn:
    """Raise the error for a directory without segments."""
    partitions = [
        name for name in _directories(files, path) if partition_of(f"{path}/{name}") is not None
    ]
    if partitions:
        raise LogDirectoryError(
            "is a log directory, not the directory of a partition",
            path=path,
            remedy=f"give one of its partitions: {first_names(partitions)}; in Python, "
            "cordwood.open_directory opens all",
        )
    raise LogDirectoryError(
        "has no segment in it: no file like 00000000000000000000.log"
        if files.list(path)
        else "is empty",
        path=path,
        remedy="give the directory of a partition, <log directory>/<topic>-<partition>",
    )
