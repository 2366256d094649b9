"""Partition and directory that a salvage creates."""

from cordwood.core.errors import InvalidTopicError, LogDirectoryError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import exists
from cordwood.storage.reader.path_resolution import partition_of


def named_partition(source: str) -> TopicPartition:
    """Return the partition that a directory is named after; LogDirectoryError for other names."""
    partition = partition_of(source)
    try:
        if partition is not None:
            names.ensure_topic_name(partition.topic)
            return partition
    except InvalidTopicError:
        pass
    raise LogDirectoryError(
        "is not named after a partition",
        path=source,
        remedy="name the partition with --partition <topic>-<partition>",
    )


def new_directory(files: Files, source: str, *, out: str, partition: TopicPartition) -> str:
    """Return the directory to create; LogDirectoryError if it exists, or is in the source."""
    target = f"{out}/{names.directory_name(partition)}"
    if exists(files, target) or f"{out}/".startswith(f"{source}/"):
        raise LogDirectoryError(
            "already exists", path=target, remedy="choose another directory for --out"
        )
    return target
