"""Names of partition directories and of the files in them (Kafka: `LogFileUtils`).

    file       base extension suffix?             00000000000000000042.log.deleted
    base       the base offset in 20 digits
    extension  .log .index .timeindex .txnindex .snapshot
    suffix     .deleted  is removed after a delay
               .cleaned  is being written by the cleaner; discarded after a crash
               .swap     is complete and about to replace other segments

    directory  topic - partition                  orders-0
             | topic - partition . unique suffix  orders-0.0d6c2e8ad1454c4f9d0e5a4a3c2b1f00-delete
    unique     a random UUID of version 4 in 32 hexadecimal digits
    suffix     -delete   was deleted and is removed after a delay
               -stray    is not of this broker and is kept for its owner
               -future   a copy that is being moved from another log directory

A topic name may contain - and ., so names are parsed from their end. File systems allow names of
255 characters: a longer name has its topic shortened. As in Kafka, that does not apply to -future.
"""

import re
from enum import Enum
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import InvalidTopicError, LogDirectoryError
from cordwood.core.types import Offset, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import random_uuid

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"

LOCK: Final = ".lock"
LOST_AND_FOUND: Final = "lost+found"
#: Directories of a log directory that are not partitions of a topic: two of Kafka's, and the one
#: that ext2 to ext4 have at the root of each file system.
NON_PARTITION_DIRECTORIES: Final = frozenset(
    {"__cluster_metadata-0", "remote-log-index-cache", LOST_AND_FOUND}
)

LONGEST_TOPIC: Final = 249
LONGEST_NAME: Final = 255

_EXTENSIONS = "|".join(re.escape(each) for each in (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT))
_SUFFIXES = "|".join(re.escape(each) for each in (DELETED, CLEANED, SWAP))
_SEGMENT = re.compile(rf"([0-9]{{20}})({_EXTENSIONS})({_SUFFIXES})?")
_DIRECTORY = re.compile(r"(.+)-([0-9]+)", re.DOTALL)
_UNIQUE = re.compile(r"\S+-\S+\.\S+")
_TOPIC = re.compile(r"[A-Za-z0-9._-]+")


class SegmentName(NamedTuple):
    """The parts of the name of a segment's file; `suffix` may be empty."""

    base_offset: Offset
    extension: str
    suffix: str = ""


class DirectorySuffix(Enum):
    """The state of a partition directory."""

    NONE = ""
    DELETE = "-delete"
    STRAY = "-stray"
    FUTURE = "-future"


class DirectoryName(NamedTuple):
    """The parts of the name of a partition directory."""

    partition: TopicPartition
    suffix: DirectorySuffix = DirectorySuffix.NONE


def segment_name(base_offset: Offset, extension: str, *, suffix: str = "") -> str:
    """Return the name of a segment's file."""
    assert 0 <= base_offset <= INT64_MAX, f"base offset {base_offset} is out of range"
    return f"{base_offset:020}{extension}{suffix}"


def parse_segment_name(name: str) -> SegmentName | None:
    """Return the parts of the name of a segment's file; None for any other name."""
    found = _SEGMENT.fullmatch(name)
    if found is None or int(found[1]) > INT64_MAX:
        return None
    return SegmentName(Offset(int(found[1])), found[2], found[3] or "")


def directory_name(partition: TopicPartition) -> str:
    """Return the name of a partition's directory."""
    return str(partition)


def deleted_directory_name(partition: TopicPartition, token: bytes) -> str:
    """Return the name of a deleted directory until its removal; `token` is 16 random bytes."""
    return _capped_name(partition, _unique_suffix(partition, DirectorySuffix.DELETE, token=token))


def stray_directory_name(partition: TopicPartition, token: bytes) -> str:
    """Return the name of a stray directory; `token` is 16 random bytes."""
    return _capped_name(partition, _unique_suffix(partition, DirectorySuffix.STRAY, token=token))


def future_directory_name(partition: TopicPartition, token: bytes) -> str:
    """Return the name of a copy until it replaces the partition's directory."""
    return f"{partition.topic}{_unique_suffix(partition, DirectorySuffix.FUTURE, token=token)}"


def parse_directory_name(name: str, *, path: str) -> DirectoryName:
    """Return the parts of the name of a directory; `path` is for the error.

    The topic of a -delete or -stray directory may be shortened.
    """
    suffix = next(each for each in reversed(DirectorySuffix) if name.endswith(each.value))
    stem = name.removesuffix(suffix.value)
    if suffix is not DirectorySuffix.NONE:
        if _UNIQUE.fullmatch(stem) is None:
            raise _bad_name(name, f"<topic>-<partition>.<unique>{suffix.value}", path=path)
        stem = stem[: stem.rindex(".")]
    found = _DIRECTORY.fullmatch(stem)
    if found is None or int(found[2]) > INT32_MAX or str(int(found[2])) != found[2]:
        raise _bad_name(name, "<topic>-<partition>", path=path)
    partition = TopicPartition(TopicName(found[1]), PartitionId(int(found[2])))
    return DirectoryName(partition, suffix)


def ensure_topic_name(name: str) -> TopicName:
    """Return the name if it is valid for a topic, or raise `InvalidTopicError`."""
    if not name:
        raise InvalidTopicError("the topic name is empty")
    if name in {".", ".."}:
        raise InvalidTopicError(
            f"topic name {name!r}: it is a special directory of every file system"
        )
    if len(name) > LONGEST_TOPIC:
        raise InvalidTopicError(
            f"topic name {name[:40]!r}...: it has {len(name)} characters (at most {LONGEST_TOPIC})"
        )
    if _TOPIC.fullmatch(name) is None:
        raise InvalidTopicError(
            f"topic name {name!r}: it has invalid characters; use A-Z, a-z, 0-9, '.', '_' and '-'"
        )
    return TopicName(name)


def _unique_suffix(partition: TopicPartition, suffix: DirectorySuffix, *, token: bytes) -> str:
    return f"-{partition.partition}.{random_uuid(token).hex()}{suffix.value}"


def _capped_name(partition: TopicPartition, suffix: str) -> str:
    return f"{partition.topic[: LONGEST_NAME - len(suffix)]}{suffix}"


def _bad_name(name: str, expected: str, *, path: str) -> LogDirectoryError:
    return LogDirectoryError(
        f"{name!r} does not have the form {expected}",
        path=path,
        remedy="a log directory contains only partitions: move this one away",
    )
