"""InitProducerId and DescribeProducers handlers.

An idempotent producer gets an id from any broker, a transactional one from its coordinator.
"""

from typing import Final

from cordwood.broker.handlers.request_client import client_of
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    NotLeaderOrFollowerError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from cordwood.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

_FIRST_EPOCH: Final = 0


async def init_producer_id(
    broker: BrokerServices,
    context: RequestContext,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse:
    """Return the id and the epoch of a producer; an idempotent one always gets a new id."""
    try:
        _ensure_valid(request)
        if request.transactional_id is not None:
            return await _init_transactional(broker, context, request, request.transactional_id)
        producer_id = await broker.producer_ids.next()
    except KafkaError as error:
        return InitProducerIdResponse(error_code=error.code, producer_epoch=NO_PRODUCER_EPOCH)
    return InitProducerIdResponse(
        error_code=0, producer_id=producer_id, producer_epoch=_FIRST_EPOCH
    )


async def describe_producers(
    broker: BrokerServices,
    _: RequestContext,
    request: DescribeProducersRequest,
) -> DescribeProducersResponse:
    """Return the producer state of partitions."""
    turns = LoopTurns(broker.turns)

    async def describe(topic: str, index: int) -> PartitionResponse:
        try:
            found = _partition(broker, topic, index)
            producers = [*found.log.producers.producers.values()]
        except KafkaError as error:
            return PartitionResponse(
                partition_index=index,
                error_code=error.code,
                error_message=str(error),
                active_producers=[],
            )
        return PartitionResponse(
            partition_index=index,
            error_code=0,
            active_producers=[
                ProducerState(
                    producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch,
                    last_sequence=each.last_sequence,
                    last_timestamp=each.last_timestamp,
                    coordinator_epoch=each.coordinator_epoch,
                    current_txn_start_offset=each.transaction_first_offset,
                )
                async for each in turns.of(producers)
            ],
        )

    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    await describe(topic.name, index)
                    async for index in turns.of(topic.partition_indexes)
                ],
            )
            async for topic in turns.of(request.topics)
        ]
    )


def _partition(broker: BrokerServices, topic: str, index: int) -> Partition:
    """Return a partition of this broker.

    Raises NotLeaderOrFollowerError for one of other brokers: the client then asks its leader. It
    would repeat UNKNOWN_TOPIC_OR_PARTITION here.
    """
    try:
        return broker.partitions.get(topic, index)
    except UnknownTopicOrPartitionError as error:
        known = broker.metadata.image.topics.get(topic)
        if known is None or not 0 <= index < len(known.partitions):
            raise
        raise NotLeaderOrFollowerError(str(error)) from None


async def _init_transactional(
    broker: BrokerServices, context: RequestContext, request: InitProducerIdRequest, key: str, /
) -> InitProducerIdResponse:
    """Let the coordinator of a transactional id begin a producer."""
    client = client_of(context)
    return await broker.coordinators.transactions.call(
        key,
        lambda shard, ticket, now_ms: shard.init_producer_id(
            request, client, ticket=ticket, now_ms=now_ms
        ),
        answer=InitProducerIdResponse,
    )


def _ensure_valid(request: InitProducerIdRequest) -> None:
    has_id = request.producer_id != NO_PRODUCER_ID
    has_epoch = request.producer_epoch != NO_PRODUCER_EPOCH
    if has_id != has_epoch:
        raise InvalidRequestError("a producer id and its epoch come together")
    if request.transactional_id == "":
        raise InvalidRequestError("a transactional id is not empty")
