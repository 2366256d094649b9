"""CreateTopics, DeleteTopics and CreatePartitions handlers.

A topic that occurs twice in a request is rejected, and the other topics are handled. A response has
each name once. A change is durable when the response is sent. At the timeout of the request the
response has REQUEST_TIMED_OUT for each topic that is not complete.
"""

from collections import Counter
from typing import Final

from cordwood.broker.config.described_configs import DescribedConfig
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.broker.topics.topic_planning import NewPartitions, PlannedTopic
from cordwood.broker.topics.topic_selection import TopicReference, duplicate_name
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    TopicDeletionDisabledError,
    error_code_of,
    error_message_of,
)
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from cordwood.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from cordwood.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from cordwood.protocol.schema import Request, Response

#: Kafka's metadata log has this name; clients must not create it.
_CLUSTER_METADATA: Final = "__cluster_metadata"
_FIRST_WITH_DELETION_DISABLED: Final = 3


async def create_topics(
    broker: BrokerServices, _context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    """Create topics."""
    turns = LoopTurns(broker.turns)
    names = Counter(topic.name for topic in request.topics)
    valid = [
        topic
        async for topic in turns.of(request.topics)
        if names[topic.name] == 1 and topic.name != _CLUSTER_METADATA
    ]
    outcomes = await broker.topics.create(
        [_new_topic(topic) async for topic in turns.of(valid)],
        validate_only=request.validate_only,
        deadline=_deadline(broker, request.timeout_ms),
    )
    results = [
        _not_created(topic.name, outcome)
        if isinstance(outcome, KafkaError)
        else _created(broker, outcome)
        async for topic, outcome in turns.of(zip(valid, outcomes, strict=True))
    ]
    duplicates = [name for name, times in names.items() if times > 1]
    results += [_not_created(name, duplicate_name()) async for name in turns.of(duplicates)]
    if names[_CLUSTER_METADATA] == 1:
        words = f"Creation of internal topic {_CLUSTER_METADATA} is prohibited."
        results.append(_not_created(_CLUSTER_METADATA, InvalidRequestError(words)))
    return CreateTopicsResponse(topics=results)


async def delete_topics(
    broker: BrokerServices, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    """Delete topics, by name or by id."""
    if not broker.configs.boolean("delete.topic.enable"):
        if context.api_version < _FIRST_WITH_DELETION_DISABLED:
            raise InvalidRequestError("Topic deletion is disabled.")
        raise TopicDeletionDisabledError("Topic deletion is disabled.")
    deadline = _deadline(broker, request.timeout_ms)
    turns = LoopTurns(broker.turns)
    references = await _references(request, turns)
    selection = await broker.topics.delete(references, deadline=deadline)
    deleted, rejected = selection.topic_ids.items(), selection.rejected
    results = [_deleted(TopicReference(*each), None) async for each in turns.of(deleted)]
    results += [_deleted(*each) async for each in turns.of(rejected)]
    return DeleteTopicsResponse(responses=results)


async def create_partitions(
    broker: BrokerServices, _context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Add partitions to topics."""
    turns = LoopTurns(broker.turns)
    names = Counter(topic.name for topic in request.topics)
    valid = [topic for topic in request.topics if names[topic.name] == 1]
    outcomes = await broker.topics.grow(
        [_new_partitions(topic) async for topic in turns.of(valid)],
        validate_only=request.validate_only,
        deadline=_deadline(broker, request.timeout_ms),
    )
    results = [
        _grown(topic.name, outcome if isinstance(outcome, KafkaError) else None)
        async for topic, outcome in turns.of(zip(valid, outcomes, strict=True))
    ]
    duplicates = [name for name, times in names.items() if times > 1]
    results += [_grown(name, duplicate_name()) async for name in turns.of(duplicates)]
    return CreatePartitionsResponse(results=results)


def error_response(request: Request, error: KafkaError, *, version: int) -> Response:  # noqa: ARG001 - one signature for all
    """Return the response that carries the error for every topic."""
    if isinstance(request, CreateTopicsRequest):
        topics = dict.fromkeys(topic.name for topic in request.topics)
        return CreateTopicsResponse(topics=[_not_created(name, error) for name in topics])
    if isinstance(request, CreatePartitionsRequest):
        topics = dict.fromkeys(topic.name for topic in request.topics)
        return CreatePartitionsResponse(results=[_grown(name, error) for name in topics])
    assert isinstance(request, DeleteTopicsRequest), "this module has three APIs"
    names = [TopicReference(name) for name in request.topic_names]
    references = dict.fromkeys((*names, *map(_reference, request.topics)))
    return DeleteTopicsResponse(responses=[_deleted(each, error) for each in references])


def _deadline(broker: BrokerServices, timeout_ms: int) -> RequestDeadline:
    return RequestDeadline(broker.clock, broker.scheduler, timeout_ms=timeout_ms)


# -- creation


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[(each.partition_index, (*each.broker_ids,)) for each in topic.assignments],
        configs=[(each.name, each.value) for each in topic.configs],
    )


def _not_created(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=error.code, error_message=error_message_of(error)
    )


def _created(broker: BrokerServices, topic: PlannedTopic) -> CreatableTopicResult:
    image = topic.image
    return CreatableTopicResult(
        name=image.name,
        topic_id=image.topic_id,
        error_code=0,
        error_message=None,
        num_partitions=len(image.partitions),
        replication_factor=image.replication_factor,
        configs=[_config(entry) for entry in broker.configs.describe_topic(topic.texts)],
    )


def _config(entry: DescribedConfig) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
    )


def _new_partitions(topic: CreatePartitionsTopic) -> NewPartitions:
    assignments = topic.assignments
    return NewPartitions(
        topic.name,
        topic.count,
        None if assignments is None else [(*each.broker_ids,) for each in assignments],
    )


def _grown(name: str, error: KafkaError | None) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(
        name=name,
        error_code=error_code_of(error),
        error_message=error_message_of(error),
    )


# -- deletion


async def _references(request: DeleteTopicsRequest, turns: LoopTurns) -> list[TopicReference]:
    by_name = [TopicReference(name) async for name in turns.of(request.topic_names)]
    return [*by_name, *[_reference(each) async for each in turns.of(request.topics)]]


def _reference(topic: DeleteTopicState) -> TopicReference:
    return TopicReference(topic.name, Uuid(topic.topic_id))


def _deleted(reference: TopicReference, error: KafkaError | None) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=reference.name,
        topic_id=reference.topic_id,
        error_code=error_code_of(error),
        error_message=error_message_of(error),
    )
