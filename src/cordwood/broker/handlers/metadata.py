"""Metadata: the brokers as the asked listener reaches them, and topics with their partitions.

Version 0 asks for all topics with an empty list; later ones with null, and an empty list asks for
none. A topic that is not there is made if the client and the broker's settings allow it, and told
of at once. What answers a request for all topics is encoded once and kept until something changes.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from cordwood.broker.broker import Broker
from cordwood.broker.image import ClusterImage, PartitionImage, TopicImage
from cordwood.broker.operations import NOT_ASKED, OF_CLUSTER, OF_TOPIC
from cordwood.broker.request import RequestContext
from cordwood.broker.topic_rules import missing_topic
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    UnknownTopicIdError,
)
from cordwood.core.ids import NO_UUID, Uuid
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from cordwood.protocol.primitives import Chunk

_FIRST_WITH_IDS = 12


async def metadata(
    broker: Broker, context: RequestContext, request: MetadataRequest
) -> MetadataResponse | list[Chunk]:
    """Tell of the topics that are asked for, or of all."""
    if _is_for_all(request, context.api_version):
        make = partial(_all, request=request, context=context)
        return [broker.metadata.made(_key(request, context), make)]
    asked = request.topics or []
    _refuse_what_the_version_lacks(asked, context.api_version)
    if any(topic.topic_id != NO_UUID for topic in asked):
        topics = [*_by_id(broker.metadata.image, asked, request)]
    else:
        topics = await _by_name(broker, [topic.name or "" for topic in asked], request)
    return _answer(broker.metadata.image, topics, request, listener=context.connection.listener)


def refused(request: MetadataRequest, error: KafkaError, *, version: int) -> MetadataResponse:
    """Tell every topic's asker of the error."""
    instead = None if version >= _FIRST_WITH_IDS else ""
    topics = [
        _failed(error.code, topic.name or instead, request=request)
        for topic in request.topics or []
    ]
    return MetadataResponse(brokers=[], topics=topics, error_code=error.code)


def _is_for_all(request: MetadataRequest, version: int) -> bool:
    return request.topics is None or (version == 0 and not request.topics)


def _key(request: MetadataRequest, context: RequestContext) -> tuple[object, ...]:
    return (
        MetadataResponse,
        context.api_version,
        context.connection.listener,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )


def _all(image: ClusterImage, *, request: MetadataRequest, context: RequestContext) -> bytes:
    topics = [_told(topic, request) for topic in image.topics.values()]
    answer = _answer(image, topics, request, listener=context.connection.listener)
    return joined(encode(answer, context.api_version))


def _answer(
    image: ClusterImage,
    topics: list[MetadataResponseTopic],
    request: MetadataRequest,
    *,
    listener: str,
) -> MetadataResponse:
    is_asked = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=each.node_id, host=endpoint.host, port=endpoint.port, rack=each.rack
            )
            for each, endpoint in image.reached_by(listener)
        ],
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=OF_CLUSTER if is_asked else NOT_ASKED,
    )


def _refuse_what_the_version_lacks(asked: Sequence[MetadataRequestTopic], version: int) -> None:
    for topic in asked if version < _FIRST_WITH_IDS else ():
        if topic.name is None:
            raise InvalidRequestError(f"Topic name can not be null for version {version}")
        if topic.topic_id != NO_UUID:
            raise InvalidRequestError(
                f"Topic IDs are not supported in requests for version {version}"
            )


def _by_id(
    image: ClusterImage, asked: Sequence[MetadataRequestTopic], request: MetadataRequest
) -> Iterator[MetadataResponseTopic]:
    for topic_id in dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != NO_UUID):
        topic = image.topics_by_id.get(topic_id)
        if topic is None:
            yield _failed(UnknownTopicIdError.code, None, request=request, topic_id=topic_id)
        else:
            yield _told(topic, request)


async def _by_name(
    broker: Broker, asked: Sequence[str], request: MetadataRequest
) -> list[MetadataResponseTopic]:
    names = list(dict.fromkeys(asked))
    errors: dict[str, int] = {}
    missing = [name for name in names if name not in broker.metadata.image.topics]
    if missing and request.allow_auto_topic_creation and _makes_topics(broker):
        outcomes = zip(missing, await broker.topics.make_missing(missing), strict=True)
        errors = {name: made.code for name, made in outcomes if isinstance(made, KafkaError)}
    topics = broker.metadata.image.topics
    return [
        _told(topics[name], request)
        if name in topics
        else _failed(errors.get(name) or missing_topic(name).code, name, request=request)
        for name in names
    ]


def _makes_topics(broker: Broker) -> bool:
    return broker.configs.boolean("auto.create.topics.enable")


def _failed(
    code: int, name: str | None, *, request: MetadataRequest, topic_id: Uuid = NO_UUID
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=code,
        name=name,
        topic_id=topic_id,
        partitions=[],
        topic_authorized_operations=_operations(request),
    )


def _told(topic: TopicImage, request: MetadataRequest) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[_partition(index, each) for index, each in enumerate(topic.partitions)],
        topic_authorized_operations=_operations(request),
    )


def _operations(request: MetadataRequest) -> int:
    return OF_TOPIC if request.include_topic_authorized_operations else NOT_ASKED


def _partition(index: int, partition: PartitionImage) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=partition.error_code,
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=[*partition.replicas],
        isr_nodes=[*partition.isr],
        offline_replicas=[*partition.offline_replicas],
    )
