"""DescribeLogDirs: the log directories, and how large what lies in them is.

How much room a volume has is not known here, and told as -1. A copy that is on its way to another
directory is told beside the log that it will replace, by how much it is behind.
"""

from cordwood.broker.broker import Broker
from cordwood.broker.request import RequestContext
from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from cordwood.storage.log import Log
from cordwood.storage.manager import LogManager


async def describe_log_dirs(
    broker: Broker, _context: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Tell of the directories, with those partitions that are asked for, or with all."""
    manager = broker.logs
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
            )
            for directory in manager.directories
        ]
    )


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
