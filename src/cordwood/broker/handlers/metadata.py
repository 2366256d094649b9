"""Metadata handler: brokers with their endpoints on the client's listener, and topics.

Version 0 requests all topics with an empty list. Later versions request all with null, and none
with an empty list. A missing topic is created if the client and the broker's settings allow it, and
is in the same response. The encoded response to a request for all topics is cached until the image
changes.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from cordwood.broker.metadata.metadata_image import ClusterImage, PartitionImage, TopicImage
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.authorized_operations import NOT_REQUESTED, OF_CLUSTER, OF_TOPIC
from cordwood.broker.topics.topic_validation import missing_topic
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    UnknownTopicIdError,
)
from cordwood.core.uuids import NO_UUID, Uuid
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
    broker: BrokerServices, context: RequestContext, request: MetadataRequest
) -> MetadataResponse | list[Chunk]:
    """Return the requested topics, or all of them."""
    if _is_for_all(request, context.api_version):
        make = partial(_all, request=request, context=context)
        return [broker.metadata.derive(_key(request, context), make)]
    requested = request.topics or []
    _ensure_supported(requested, context.api_version)
    if any(topic.topic_id != NO_UUID for topic in requested):
        topics = [*_by_id(broker.metadata.image, requested, request)]
    else:
        topics = await _by_name(broker, [topic.name or "" for topic in requested], request)
    return _response(broker.metadata.image, topics, request, listener=context.connection.listener)


def error_response(
    request: MetadataRequest, error: KafkaError, *, version: int
) -> MetadataResponse:
    """Return the response that carries the error for every requested topic."""
    missing_name = None if version >= _FIRST_WITH_IDS else ""
    topics = [
        _failed(error.code, topic.name or missing_name, request=request)
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
    topics = [_described(topic, request) for topic in image.topics.values()]
    response = _response(image, topics, request, listener=context.connection.listener)
    return joined(encode(response, context.api_version))


def _response(
    image: ClusterImage,
    topics: list[MetadataResponseTopic],
    request: MetadataRequest,
    *,
    listener: str,
) -> MetadataResponse:
    is_requested = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=each.node_id, host=endpoint.host, port=endpoint.port, rack=each.rack
            )
            for each, endpoint in image.endpoints_of(listener)
        ],
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=OF_CLUSTER if is_requested else NOT_REQUESTED,
    )


def _ensure_supported(requested: Sequence[MetadataRequestTopic], version: int) -> None:
    """Raise for null names and ids in a version without them."""
    for topic in requested if version < _FIRST_WITH_IDS else ():
        if topic.name is None:
            raise InvalidRequestError(f"Topic name can not be null for version {version}")
        if topic.topic_id != NO_UUID:
            raise InvalidRequestError(
                f"Topic IDs are not supported in requests for version {version}"
            )


def _by_id(
    image: ClusterImage, requested: Sequence[MetadataRequestTopic], request: MetadataRequest
) -> Iterator[MetadataResponseTopic]:
    ids = (topic.topic_id for topic in requested if topic.topic_id != NO_UUID)
    for topic_id in dict.fromkeys(ids):
        topic = image.topics_by_id.get(topic_id)
        if topic is None:
            yield _failed(UnknownTopicIdError.code, None, request=request, topic_id=topic_id)
        else:
            yield _described(topic, request)


async def _by_name(
    broker: BrokerServices, requested: Sequence[str], request: MetadataRequest
) -> list[MetadataResponseTopic]:
    names = list(dict.fromkeys(requested))
    errors: dict[str, int] = {}
    missing = [name for name in names if name not in broker.metadata.image.topics]
    is_enabled = broker.configs.boolean("auto.create.topics.enable")
    if missing and request.allow_auto_topic_creation and is_enabled:
        outcomes = zip(missing, await broker.topics.create_missing(missing), strict=True)
        errors = {name: each.code for name, each in outcomes if isinstance(each, KafkaError)}
    topics = broker.metadata.image.topics
    return [
        _described(topics[name], request)
        if name in topics
        else _failed(errors.get(name) or missing_topic(name).code, name, request=request)
        for name in names
    ]


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


def _described(topic: TopicImage, request: MetadataRequest) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[_partition(index, each) for index, each in enumerate(topic.partitions)],
        topic_authorized_operations=_operations(request),
    )


def _operations(request: MetadataRequest) -> int:
    return OF_TOPIC if request.include_topic_authorized_operations else NOT_REQUESTED


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
