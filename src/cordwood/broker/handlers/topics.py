"""CreateTopics, DeleteTopics, CreatePartitions: what was asked for twice is refused, the rest done.

An answer has each name once. What is made is durable when it is answered.
"""

from collections import Counter
from typing import Final

from cordwood.broker.answer_errors import code_of, words_of
from cordwood.broker.broker import Broker
from cordwood.broker.config_entries import ConfigEntry
from cordwood.broker.request import RequestContext
from cordwood.broker.topic_rules import NewTopic
from cordwood.broker.topic_selection import Said, duplicate_name
from cordwood.broker.topics import MorePartitions, PlannedTopic
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    TopicDeletionDisabledError,
)
from cordwood.core.ids import Uuid
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
)
from cordwood.protocol.schema import Request, Response

#: Kafka keeps its own metadata under this name; it is nobody's to make.
_CLUSTER_METADATA: Final = "__cluster_metadata"
_FIRST_WITH_DELETION_DISABLED: Final = 3


async def create_topics(
    broker: Broker, _context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    """Make topics."""
    names = Counter(topic.name for topic in request.topics)
    asked = [
        topic
        for topic in request.topics
        if names[topic.name] == 1 and topic.name != _CLUSTER_METADATA
    ]
    outcomes = await broker.topics.create(
        [_new_topic(topic) for topic in asked], validate_only=request.validate_only
    )
    results = [
        _not_created(topic.name, outcome)
        if isinstance(outcome, KafkaError)
        else _created(broker, outcome)
        for topic, outcome in zip(asked, outcomes, strict=True)
    ]
    results += [_not_created(name, duplicate_name()) for name, times in names.items() if times > 1]
    if names[_CLUSTER_METADATA] == 1:
        words = f"Creation of internal topic {_CLUSTER_METADATA} is prohibited."
        results.append(_not_created(_CLUSTER_METADATA, InvalidRequestError(words)))
    return CreateTopicsResponse(topics=results)


async def delete_topics(
    broker: Broker, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    """Delete topics, by name or by id."""
    if not broker.configs.boolean("delete.topic.enable"):
        if context.api_version < _FIRST_WITH_DELETION_DISABLED:
            raise InvalidRequestError("Topic deletion is disabled.")
        raise TopicDeletionDisabledError("Topic deletion is disabled.")
    selection = await broker.topics.delete(_said(request))
    results = [_deleted(Said(*each), None) for each in selection.meant.items()]
    results += [_deleted(*each) for each in selection.refused]
    return DeleteTopicsResponse(responses=results)


async def create_partitions(
    broker: Broker, _context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Give topics more partitions."""
    names = Counter(topic.name for topic in request.topics)
    asked = [topic for topic in request.topics if names[topic.name] == 1]
    outcomes = await broker.topics.grow(
        [_more_partitions(topic) for topic in asked], validate_only=request.validate_only
    )
    results = [
        _grown(topic.name, outcome if isinstance(outcome, KafkaError) else None)
        for topic, outcome in zip(asked, outcomes, strict=True)
    ]
    results += [_grown(name, duplicate_name()) for name, times in names.items() if times > 1]
    return CreatePartitionsResponse(results=results)


def refused(request: Request, error: KafkaError, *, version: int) -> Response:  # noqa: ARG001 - the same for all
    """Tell every topic's asker of the error."""
    if isinstance(request, CreateTopicsRequest):
        topics = dict.fromkeys(topic.name for topic in request.topics)
        return CreateTopicsResponse(topics=[_not_created(name, error) for name in topics])
    if isinstance(request, CreatePartitionsRequest):
        topics = dict.fromkeys(topic.name for topic in request.topics)
        return CreatePartitionsResponse(results=[_grown(name, error) for name in topics])
    assert isinstance(request, DeleteTopicsRequest), "there is no other one here"
    said = dict.fromkeys(_said(request))
    return DeleteTopicsResponse(responses=[_deleted(each, error) for each in said])


# -- creating


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[(each.partition_index, (*each.broker_ids,)) for each in topic.assignments],
        configs=[(each.name, each.value) for each in topic.configs],
    )


def _not_created(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=words_of(error))


def _created(broker: Broker, topic: PlannedTopic) -> CreatableTopicResult:
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


def _config(entry: ConfigEntry) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
    )


def _more_partitions(topic: CreatePartitionsTopic) -> MorePartitions:
    assignments = topic.assignments
    return MorePartitions(
        topic.name,
        topic.count,
        None if assignments is None else [(*each.broker_ids,) for each in assignments],
    )


def _grown(name: str, error: KafkaError | None) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(
        name=name,
        error_code=code_of(error),
        error_message=words_of(error),
    )


# -- deleting


def _said(request: DeleteTopicsRequest) -> list[Said]:
    by_name = [Said(name) for name in request.topic_names]
    return [*by_name, *(Said(each.name, Uuid(each.topic_id)) for each in request.topics)]


def _deleted(said: Said, error: KafkaError | None) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=said.name,
        topic_id=said.topic_id,
        error_code=code_of(error),
        error_message=words_of(error),
    )
