"""Offsets: which belongs to a time, where an epoch ended, and up to where records are to go."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cordwood.broker.broker import Broker
from cordwood.broker.fetching import isolation_of
from cordwood.broker.internal_topics import INTERNAL_TOPICS
from cordwood.broker.request import RequestContext
from cordwood.core.errors import (
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
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
from cordwood.storage.reading import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    Isolation,
)
from cordwood.storage.segment_reads import TimestampAndOffset

_EARLIEST_PENDING_UPLOAD: Final = -6
#: From which version on each place may be asked for.
_PLACES: Final[Mapping[int, int]] = MappingProxyType(
    {
        LATEST: 1,
        EARLIEST: 1,
        MAX_TIMESTAMP: 7,
        EARLIEST_LOCAL: 8,
        LATEST_TIERED: 9,
        _EARLIEST_PENDING_UPLOAD: 11,
    }
)
_NOTHING_SO_LATE: Final = TimestampAndOffset(-1, -1)
_FIRST_WITH_EPOCH: Final = 4
_CONSUMER: Final = -1
_NONE: Final = -1


async def list_offsets(
    broker: Broker, context: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    """Look up every time and place; whoever is no consumer sees up to the log's end."""
    isolation = _isolation(request)
    asked = Counter(
        (topic.name, each.partition_index) for topic in request.topics for each in topic.partitions
    )

    def look_up(topic: str, each: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        try:
            _ensure_asked_once(asked, topic, index=each.partition_index)
            _ensure_known(each.timestamp, context.api_version)
            partition = broker.partitions.get(topic, each.partition_index)
            partition.ensure_epoch(each.current_leader_epoch)
            found = partition.offset_for_timestamp(each.timestamp, isolation)
        except KafkaError as error:
            return ListOffsetsPartitionResponse(
                partition_index=each.partition_index, error_code=error.code
            )
        timestamp, offset, leader_epoch = found or _NOTHING_SO_LATE
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
                name=topic.name, partitions=[look_up(topic.name, each) for each in topic.partitions]
            )
            for topic in request.topics
        ]
    )


async def delete_records(
    broker: Broker,
    _: RequestContext,
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse:
    """Let logs start later, as far as their topics' policies let records go."""

    def delete(topic: str, each: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
        try:
            if topic in INTERNAL_TOPICS:
                raise InvalidTopicError(f"records of {topic} go by themselves")
            start = broker.partitions.get(topic, each.partition_index).delete_records(each.offset)
        except KafkaError as error:
            return DeleteRecordsPartitionResult(
                partition_index=each.partition_index, low_watermark=_NONE, error_code=error.code
            )
        return DeleteRecordsPartitionResult(
            partition_index=each.partition_index, low_watermark=start, error_code=0
        )

    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[delete(topic.name, each) for each in topic.partitions]
            )
            for topic in request.topics
        ]
    )


async def offset_for_leader_epoch(
    broker: Broker,
    _: RequestContext,
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse:
    """Say where epochs ended."""

    def look_up(topic: str, each: OffsetForLeaderPartition) -> EpochEndOffset:
        try:
            partition = broker.partitions.get(topic, each.partition)
            partition.ensure_epoch(each.current_leader_epoch)
            end = partition.end_of_epoch(each.leader_epoch)
        except KafkaError as error:
            return EpochEndOffset(error_code=error.code, partition=each.partition)
        return EpochEndOffset(
            error_code=0,
            partition=each.partition,
            leader_epoch=end.epoch,
            end_offset=end.end_offset,
        )

    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[look_up(topic.topic, each) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _isolation(request: ListOffsetsRequest) -> Isolation:
    if request.replica_id != _CONSUMER:
        return Isolation.LOG_END
    return isolation_of(request.isolation_level)


def _ensure_asked_once(asked: Counter[tuple[str, int]], topic: str, *, index: int) -> None:
    if asked[topic, index] > 1:
        raise InvalidRequestError(f"{topic}-{index} is asked for more than once")


def _ensure_known(timestamp: int, version: int) -> None:
    """Refuse a place that has no meaning in this version; 0 and above are times."""
    if timestamp < 0 and (timestamp not in _PLACES or version < _PLACES[timestamp]):
        raise UnsupportedVersionError(f"{timestamp} is no place that version {version} knows")
