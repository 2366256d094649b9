"""Handlers of log directories: DescribeLogDirs and AlterReplicaLogDirs.

AlterReplicaLogDirs begins to move replicas between the directories of this broker, and answers
without a wait for the copies. The replica of a partition that is known, but not here, is created in
the wanted directory later; the response has REPLICA_NOT_AVAILABLE.

The sizes of a volume are read on the worker; both are -1 if that fails. A future log is listed in
addition to the log that it will replace, with its offset lag.
"""

from functools import partial
from typing import Final

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.pending_results import wait_for
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import (
    KafkaError,
    KafkaStorageError,
    ReplicaNotAvailableError,
    UnknownTopicOrPartitionError,
    error_code_of,
)
from cordwood.core.ports import Lane, Volume
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from cordwood.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import LogManager

_UNKNOWN: Final = Volume(-1, -1)


async def alter_replica_log_dirs(
    broker: BrokerServices, _context: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Begin to move replicas, or cancel moves."""
    turns = LoopTurns(broker.turns)
    results = dict[str, list[AlterReplicaLogDirPartitionResult]]()
    async for directory in turns.of(request.dirs):
        async for topic in turns.of(directory.topics):
            async for index in turns.of(topic.partitions):
                partition = TopicPartition(TopicName(topic.name), PartitionId(index))
                error = await _alter(broker, partition, directory.path)
                results.setdefault(topic.name, []).append(
                    AlterReplicaLogDirPartitionResult(
                        partition_index=index, error_code=error_code_of(error)
                    )
                )
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=topic, partitions=partitions)
            for topic, partitions in results.items()
        ]
    )


async def _alter(broker: BrokerServices, partition: TopicPartition, path: str) -> KafkaError | None:
    """Return the error of one partition."""
    try:
        await broker.log_dir_moves.alter(partition, path)
    except UnknownTopicOrPartitionError as error:
        topic = broker.metadata.image.topics.get(partition.topic)
        if topic is not None and partition.partition in range(len(topic.partitions)):
            return ReplicaNotAvailableError(f"{partition} has no replica here yet")
        return error
    except KafkaError as error:
        return error
    return None


async def describe_log_dirs(
    broker: BrokerServices, _context: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Return the directories, with the requested partitions or with all."""
    manager = broker.logs
    volumes = {each.path: await _volume(each, manager) for each in manager.directories}
    turns = LoopTurns(broker.turns)
    requested = await _requested(request, turns)
    found: dict[str, dict[str, list[DescribeLogDirsPartition]]] = {}
    async for log in turns.of(manager.all_logs()):
        is_requested = requested is None or log.partition in requested
        if is_requested and manager.has(log):
            topics = found.setdefault(manager.directory_of(log).path, {})
            topics.setdefault(log.partition.topic, []).append(_partition(log, manager))
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                error_code=0 if directory.is_online else KafkaStorageError.code,
                log_dir=directory.path,
                topics=[
                    DescribeLogDirsTopic(name=topic, partitions=partitions)
                    async for topic, partitions in turns.of(found.get(directory.path, {}).items())
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
        read = partial(manager.ports.files.volume, directory.path)
        return await wait_for(manager.ports.worker.submit(read, lane=Lane.READ))
    except OSError:
        return _UNKNOWN


async def _requested(
    request: DescribeLogDirsRequest, turns: LoopTurns
) -> set[TopicPartition] | None:
    if request.topics is None:
        return None
    return {
        TopicPartition(TopicName(topic.topic), PartitionId(index))
        async for topic in turns.of(request.topics)
        async for index in turns.of(topic.partitions)
    }


def _partition(log: Log, manager: LogManager) -> DescribeLogDirsPartition:
    current = manager.logs.get(log.partition)
    is_future = current is not log
    # A future log lags behind its log's end; a log itself is compared with its high watermark.
    ahead = current.bounds.log_end if is_future and current else log.bounds.high_watermark
    return DescribeLogDirsPartition(
        partition_index=log.partition.partition,
        partition_size=log.size,
        offset_lag=max(0, ahead - log.bounds.log_end),
        is_future_key=is_future,
    )
