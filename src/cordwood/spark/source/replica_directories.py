"""Partition directories of several brokers, as sources of the same partitions.

    one directory of a partition     a source as before
    several directories              its replicas: each is a source up to its own high watermark

Replicas are the same below a high watermark, so that an offset may be read from any of them, and is
read from the first one that has it (`coverage`). The records end at the largest high watermark: a
replica that is behind adds nothing. Records after the high watermark of a replica may not be those
of the leader, and are not read. So a replica without a checkpoint of its high watermark is
rejected, and so is the log end as the bound.

A path that does not exist is the replica of a broker that is gone, if others have all partitions of
the topics that the options name.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.spark.source.directory_offsets import DirectoryOffsetReader, directories_of
from cordwood.spark.source.high_watermarks import CountsOf, HighWatermarks
from cordwood.spark.source.source_options import SourceOptions, TopicChoice
from cordwood.storage.files.atomic_write import exists

_log: Final = logging.getLogger(__name__)


class _Found(NamedTuple):
    """The directories of each selected partition by path, and all topics."""

    directories: Mapping[TopicPartition, Sequence[str]]
    topics: Collection[str]


def find_replicas(
    files: Files, options: SourceOptions, *, counts_of: CountsOf | None = None
) -> list[DirectoryOffsetReader]:
    """Return readers that together have each directory of the selected partitions once."""
    missing = [each for each in options.paths if not exists(files, each)]
    if len(missing) == len(options.paths):
        missing = []  # the error of the first path has the names next to it
    _check_missing(missing, options)
    found = _find(files, [each for each in options.paths if each not in missing], options.topics)
    if missing:
        _check_whole(found, missing)
        _log.warning("%s: does not exist; its replicas are not read", ", ".join(missing))
    replicated = frozenset(each for each, paths in found.directories.items() if len(paths) > 1)
    if replicated and options.is_to_log_end:
        raise SettingError(
            f"endAt: {min(replicated)} has several replicas, whose log ends differ",
            key="endAt",
            remedy="omit endAt=log-end, or give the path of one replica",
        )
    watermarks = HighWatermarks(files, counts_of, replicated=replicated)
    return [
        DirectoryOffsetReader(
            files,
            paths,
            topics=found.topics,
            is_committed=options.is_committed,
            is_to_log_end=options.is_to_log_end,
            watermarks=watermarks,
        )
        for paths in _layers(found.directories)
    ]


def _layers(
    directories: Mapping[TopicPartition, Sequence[str]],
) -> Iterator[dict[TopicPartition, str]]:
    """Yield the first directory of each partition, then the second of those that have one, ..."""
    count = max(map(len, directories.values()), default=1)
    for number in range(count):
        yield {each: paths[number] for each, paths in directories.items() if len(paths) > number}


def _find(files: Files, paths: Sequence[str], choice: TopicChoice) -> _Found:
    found, topics = dict[TopicPartition, list[str]](), set[str]()
    for partition, directory in directories_of(files, paths):
        topics.add(partition.topic)
        if choice.includes(partition):
            replicas = found.setdefault(partition, [])
            if directory in replicas:
                raise LogDirectoryError(
                    f"{partition} is given twice",
                    path=directory,
                    remedy="give the log directory or the partition directory",
                )
            replicas.append(directory)
    return _Found(found, topics)


def _check_missing(missing: Sequence[str], options: SourceOptions) -> None:
    """Reject a path that does not exist next to others, unless the topics are named."""
    choice = options.topics
    if missing and choice.names is None and choice.assigned is None:
        raise LogDirectoryError(
            "does not exist",
            path=missing[0],
            remedy="check the path, or name the topics with subscribe or assign if it is that of "
            "a broker that is gone and other paths have replicas",
        )


def _check_whole(found: _Found, missing: Sequence[str]) -> None:
    """Reject topics of which only a path that does not exist may have a partition."""
    for topic in {each.topic for each in found.directories}:
        numbers = {each.partition for each in found.directories if each.topic == topic}
        lacking = sorted(set(range(max(numbers) + 1)) - numbers)
        if lacking:
            raise LogDirectoryError(
                f"does not exist, and no other path has {topic}-{lacking[0]}",
                path=missing[0],
                remedy="restore the directory, or select other partitions with assign",
            )
