"""DescribeLogDirs: the log directories, and how large what lies in them is.

What a directory is on is asked of the system, off the loop; where that fails both sizes are -1. A
copy that is on its way to another directory is told beside the log that it will replace, by how
much it is behind.
"""

from functools import partial
from typing import Final

from cordwood.broker.broker import Broker
from cordwood.broker.request import RequestContext
from cordwood.broker.waiting import done
from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Volume
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from cordwood.storage.log import Log
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.manager import LogManager

_UNKNOWN: Final = Volume(-1, -1)


async def describe_log_dirs(
    broker: Broker, _context: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Tell of the directories, with those partitions that are asked for, or with all."""
    manager = broker.logs
    volumes = {each.path: await _volume(each, manager) for each in manager.directories}
    asked = _asked(request)
    told: dict[str, dict[str, list[DescribeLogDirsPartition]]] = {}
    for log in manager.all_logs():
        if asked is None or log.partition in asked:
            topics = told.setdefault(manager.directory_of(log).path, {})
            topics.setdefault(log.partition.topic, []).append(_partition(log, manager))
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                error_code=0 if directory.is_online else KafkaStorageError.code,
                log_dir=directory.path,
                topics=[
                    DescribeLogDirsTopic(name=topic, partitions=partitions)
                    for topic, partitions in told.get(directory.path, {}).items()
                ],
                total_bytes=volumes[directory.path].total_bytes,
                usable_bytes=volumes[directory.path].usable_bytes,
            )
            for directory in manager.directories
        ]
    )


async def _volume(directory: LogDirectory, manager: LogManager) -> Volume:
    if not directory.is_online:
        return _UNKNOWN
    try:
        ask = partial(manager.tools.files.volume, directory.path)
        return await done(manager.tools.worker.submit(ask))
    except OSError:
        return _UNKNOWN


def _asked(request: DescribeLogDirsRequest) -> set[TopicPartition] | None:
    if request.topics is None:
        return None
    return {
        TopicPartition(TopicName(topic.topic), PartitionId(index))
        for topic in request.topics
        for index in topic.partitions
    }


def _partition(log: Log, manager: LogManager) -> DescribeLogDirsPartition:
    current = manager.logs.get(log.partition)
    is_future = current is not log
    ahead = current.bounds.log_end if is_future and current else log.bounds.high_watermark
    return DescribeLogDirsPartition(
        partition_index=log.partition.partition,
        partition_size=log.size,
        offset_lag=max(0, ahead - log.bounds.log_end),
        is_future_key=is_future,
    )
