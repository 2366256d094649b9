"""Handlers of transactions: requests of producers, of other brokers, and of administrators.

Kafka: the `handle...Txn` methods of `KafkaApis`. A request with several transactional ids is
divided by their coordinators; each part has its own result.
"""

from collections.abc import Iterable
from typing import Final

from cordwood.broker.handlers.request_client import client_of
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.transactions.add_partitions_response import PartitionCodes
from cordwood.core.errors import (
    KafkaError,
    OperationNotAttemptedError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

_FIRST_WITH_MANY: Final = 4


async def add_partitions_to_txn(
    broker: BrokerServices, context: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    """Add partitions to transactions, or verify them; a missing topic fails its transaction."""
    turns = LoopTurns(broker.turns)
    client = client_of(context)
    if context.api_version < _FIRST_WITH_MANY:
        part = request
        request.topics = await _distinct(request.topics, turns)
        topics = await _added(broker, client, part, topics=request.topics, turns=turns)
        return AddPartitionsToTxnResponse(results_by_topic=topics)
    results: list[AddPartitionsToTxnResult] = []
    async for each in turns.of(request.transactions):
        each.topics = await _distinct(each.topics, turns)
        part = AddPartitionsToTxnRequest(transactions=[each])
        topics = await _added(broker, client, part, topics=each.topics, turns=turns)
        results.append(
            AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=topics)
        )
    return AddPartitionsToTxnResponse(results_by_transaction=results)


async def _added(
    broker: BrokerServices,
    client: ClientContext,
    part: AddPartitionsToTxnRequest,
    *,
    topics: list[AddPartitionsToTxnTopic],
    turns: LoopTurns,
) -> list[AddPartitionsToTxnTopicResult]:
    """Add the partitions of one transaction; their results are made in turns after the event."""
    missing = await _missing(broker.metadata.image, topics, turns)
    if missing:
        unknown = dict.fromkeys(missing, UnknownTopicOrPartitionError.code)
        code = OperationNotAttemptedError.code
        return await _results(topics, unknown, default=code, turns=turns)
    transactional_id = (
        part.transactions[0].transactional_id if part.transactions else part.transactional_id
    )
    later: dict[int, PartitionCodes | int] = {}
    try:
        await broker.coordinators.transactions.call(
            transactional_id,
            lambda shard, ticket, now_ms: shard.add_partitions(
                part, client, ticket=ticket, now_ms=now_ms, later=later
            ),
            answer=AddPartitionsToTxnResponse,
        )
    except KafkaError as error:
        return await _results(topics, {}, default=error.code, turns=turns)
    codes = later[0]
    if isinstance(codes, int):
        return await _results(topics, {}, default=codes, turns=turns)
    return await _results(topics, codes, default=0, turns=turns)


async def _missing(
    image: ClusterImage, topics: Iterable[AddPartitionsToTxnTopic], turns: LoopTurns
) -> set[TopicPartition]:
    """Return the partitions that do not exist."""
    missing: set[TopicPartition] = set()
    for topic in topics:
        found = image.topics.get(topic.name)
        count = 0 if found is None else len(found.partitions)
        async for number in turns.of(topic.partitions):
            if not 0 <= number < count:
                missing.add(_partition(topic.name, number))
    return missing


async def _results(
    topics: Iterable[AddPartitionsToTxnTopic],
    codes: PartitionCodes,
    *,
    default: int,
    turns: LoopTurns,
) -> list[AddPartitionsToTxnTopicResult]:
    """Return the results of a transaction; `codes` has those that are not the default."""
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=number,
                    partition_error_code=codes.get(_partition(topic.name, number), default),
                )
                async for number in turns.of(topic.partitions)
            ],
        )
        async for topic in turns.of(topics)
    ]


def _partition(topic: str, number: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


async def _distinct(
    topics: Iterable[AddPartitionsToTxnTopic], turns: LoopTurns
) -> list[AddPartitionsToTxnTopic]:
    """Return each topic once, with each partition once, as Kafka answers."""
    found: dict[str, dict[int, None]] = {}
    async for topic in turns.of(topics):
        found.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions))
    return await turns.collect(
        lambda name: AddPartitionsToTxnTopic(name=name, partitions=[*found[name]]), found
    )


async def add_offsets_to_txn(
    broker: BrokerServices, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    """Add the partition with the offsets of a group to a transaction."""
    client = client_of(context)
    coordinators = broker.coordinators
    partitions = coordinators.groups.partition_count
    try:
        return await coordinators.transactions.call(
            request.transactional_id,
            lambda shard, ticket, now_ms: shard.add_offsets(
                request, client, ticket=ticket, now_ms=now_ms, offsets_partitions=partitions
            ),
            answer=AddOffsetsToTxnResponse,
        )
    except KafkaError as error:
        return AddOffsetsToTxnResponse(error_code=error.code)


async def end_txn(
    broker: BrokerServices, context: RequestContext, request: EndTxnRequest
) -> EndTxnResponse:
    """Commit or abort a transaction."""
    client = client_of(context)
    try:
        return await broker.coordinators.transactions.call(
            request.transactional_id,
            lambda shard, ticket, now_ms: shard.end_transaction(
                request, client, ticket=ticket, now_ms=now_ms
            ),
            answer=EndTxnResponse,
        )
    except KafkaError as error:
        return EndTxnResponse(error_code=error.code)
