"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords handlers."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.metadata.metadata_image import INTERNAL_TOPICS
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.partitions.delayed_fetch import isolation_of
from cordwood.broker.pending_results import wait_for
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import (
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    LeaderNotAvailableError,
    NotLeaderOrFollowerError,
    OffsetNotAvailableError,
    UnsupportedVersionError,
)
from cordwood.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from cordwood.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from cordwood.storage.log.log_read import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    FetchIsolation,
    needs_lookup,
)
from cordwood.storage.segment.segment_view import TimestampAndOffset

_EARLIEST_PENDING_UPLOAD: Final = -6
#: The first version in which each special timestamp may be requested.
_SPECIAL_TIMESTAMPS: Final[Mapping[int, int]] = MappingProxyType(
    {
        LATEST: 1,
        EARLIEST: 1,
        MAX_TIMESTAMP: 7,
        EARLIEST_LOCAL: 8,
        LATEST_TIERED: 9,
        _EARLIEST_PENDING_UPLOAD: 11,
    }
)
_NOT_FOUND: Final = TimestampAndOffset(-1, -1)
_FIRST_WITH_EPOCH: Final = 4
_FIRST_WITH_NOT_AVAILABLE: Final = 5
_CONSUMER: Final = -1
_NONE: Final = -1


async def list_offsets(
    broker: BrokerServices, context: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    """Return the offset of every timestamp; a client with a replica id reads to the log end.

    Records are searched on the worker, for one partition of the request after the other, until the
    connection stops.
    """
    isolation, lookups = _isolation(request), broker.timestamp_lookups
    turns = LoopTurns(broker.turns)
    counts = Counter[tuple[str, int]]()
    async for topic in turns.of(request.topics):
        async for each in turns.of(topic.partitions):
            counts[topic.name, each.partition_index] += 1

    async def look_up(topic: str, each: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        try:
            _ensure_unique(counts, topic, index=each.partition_index)
            _ensure_known(each.timestamp, context.api_version)
            partition = broker.partitions.get(topic, each.partition_index)
            partition.ensure_epoch(each.current_leader_epoch)
            if not needs_lookup(each.timestamp):
                found = partition.offset_for_timestamp(each.timestamp, isolation)
            else:
                _ensure_connected(context)
                pending = lookups.find(partition.led_log, each.timestamp, isolation=isolation)
                found = await wait_for(pending)
                # The leadership may have ended meanwhile.
                partition.ensure_epoch(each.current_leader_epoch)
                partition.ensure_offset_known(found, isolation)
        except OffsetNotAvailableError as error:
            is_known = context.api_version >= _FIRST_WITH_NOT_AVAILABLE
            return ListOffsetsPartitionResponse(
                partition_index=each.partition_index,
                error_code=error.code if is_known else LeaderNotAvailableError.code,
            )
        except KafkaError as error:
            return ListOffsetsPartitionResponse(
                partition_index=each.partition_index, error_code=error.code
            )
        timestamp, offset, leader_epoch = found or _NOT_FOUND
        return ListOffsetsPartitionResponse(
            partition_index=each.partition_index,
            error_code=0,
            timestamp=timestamp,
            offset=offset,
            leader_epoch=leader_epoch if context.api_version >= _FIRST_WITH_EPOCH else _NONE,
        )

    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    await look_up(topic.name, each) async for each in turns.of(topic.partitions)
                ],
            )
            async for topic in turns.of(request.topics)
        ]
    )


async def delete_records(
    broker: BrokerServices,
    _: RequestContext,
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse:
    """Advance log starts, for topics whose cleanup policy allows deletion."""

    def delete(topic: str, each: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
        try:
            if topic in INTERNAL_TOPICS:
                raise InvalidTopicError(f"records of internal topic {topic} cannot be deleted")
            start = broker.partitions.get(topic, each.partition_index).delete_records(each.offset)
        except KafkaError as error:
            return DeleteRecordsPartitionResult(
                partition_index=each.partition_index, low_watermark=_NONE, error_code=error.code
            )
        return DeleteRecordsPartitionResult(
            partition_index=each.partition_index, low_watermark=start, error_code=0
        )

    turns = LoopTurns(broker.turns)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[delete(topic.name, each) async for each in turns.of(topic.partitions)],
            )
            async for topic in turns.of(request.topics)
        ]
    )


async def offset_for_leader_epoch(
    broker: BrokerServices,
    _: RequestContext,
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse:
    """Return the end offsets of leader epochs."""

    def look_up(topic: str, each: OffsetForLeaderPartition) -> EpochEndOffset:
        try:
            partition = broker.partitions.get(topic, each.partition)
            partition.ensure_epoch(each.current_leader_epoch)
            end = partition.last_offset_for_leader_epoch(each.leader_epoch)
        except KafkaError as error:
            return EpochEndOffset(error_code=error.code, partition=each.partition)
        return EpochEndOffset(
            error_code=0,
            partition=each.partition,
            leader_epoch=end.epoch,
            end_offset=end.end_offset,
        )

    turns = LoopTurns(broker.turns)
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    look_up(topic.topic, each) async for each in turns.of(topic.partitions)
                ],
            )
            async for topic in turns.of(request.topics)
        ]
    )


def _ensure_connected(context: RequestContext) -> None:
    """Raise on shutdown and after a disconnect: a lookup would delay others, for no reader."""
    if context.connection.stopping.has_fired:
        raise NotLeaderOrFollowerError("the connection is closing; send the request again")


def _isolation(request: ListOffsetsRequest) -> FetchIsolation:
    if request.replica_id != _CONSUMER:
        return FetchIsolation.LOG_END
    return isolation_of(request.isolation_level)


def _ensure_unique(counts: Counter[tuple[str, int]], topic: str, *, index: int) -> None:
    if counts[topic, index] > 1:
        raise InvalidRequestError(f"{topic}-{index} is requested more than once")


def _ensure_known(timestamp: int, version: int) -> None:
    """Raise for a special (negative) timestamp that the version does not have."""
    if timestamp >= 0:
        return
    if timestamp not in _SPECIAL_TIMESTAMPS or version < _SPECIAL_TIMESTAMPS[timestamp]:
        raise UnsupportedVersionError(f"version {version} has no timestamp {timestamp}")
