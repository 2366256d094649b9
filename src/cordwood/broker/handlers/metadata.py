"""Metadata handler: brokers with their endpoints on the client's listener, and topics.

Version 0 requests all topics with an empty list. Later versions request all with null, and none
with an empty list. A missing topic is created if the client and the broker's settings allow it, and
is in the same response. The encoded response to a request for all topics is cached until the image
changes.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from cordwood.broker.large_messages import begin_encoding, encode_small
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.metadata.metadata_image import ClusterImage, PartitionImage, TopicImage
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.pending_results import wait_for
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.authorized_operations import NOT_REQUESTED, OF_CLUSTER, OF_TOPIC
from cordwood.broker.topics.topic_validation import missing_topic
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    UnknownTopicIdError,
)
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.codec import joined
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
        make = partial(_all, request=request, context=context, broker=broker)
        return [await broker.metadata.derive(_key(request, context), make)]
    requested = request.topics or []
    turns = LoopTurns(broker.turns)
    if context.api_version < _FIRST_WITH_IDS:
        await _ensure_supported(requested, context.api_version, turns)
    ids = {each.topic_id: None async for each in turns.of(requested) if each.topic_id != NO_UUID}
    if ids:
        topics = await _by_id(broker, ids, request)
    else:
        names = {topic.name or "": None async for topic in turns.of(requested)}
        topics = await _by_name(broker, [*names], request)
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


async def _all(
    image: ClusterImage,
    *,
    request: MetadataRequest,
    context: RequestContext,
    broker: BrokerServices,
) -> bytes:
    turns = LoopTurns(broker.turns)
    topics = [
        await _described(each, request, turns) async for each in turns.of(image.topics.values())
    ]
    response = _response(image, topics, request, listener=context.connection.listener)
    worker = broker.logs.ports.worker
    chunks = encode_small(response, context.api_version)
    if chunks is None:
        chunks = await wait_for(begin_encoding(response, context.api_version, worker=worker))
    return joined(chunks)


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


async def _ensure_supported(
    requested: Sequence[MetadataRequestTopic], version: int, turns: LoopTurns
) -> None:
    """Raise for null names and ids, which this version does not have."""
    async for topic in turns.of(requested):
        if topic.name is None:
            raise InvalidRequestError(f"Topic name can not be null for version {version}")
        if topic.topic_id != NO_UUID:
            raise InvalidRequestError(
                f"Topic IDs are not supported in requests for version {version}"
            )


async def _by_id(
    broker: BrokerServices, ids: Iterable[Uuid], request: MetadataRequest
) -> list[MetadataResponseTopic]:
    image = broker.metadata.image
    turns = LoopTurns(broker.turns)
    return [
        await _described(image.topics_by_id[topic_id], request, turns)
        if topic_id in image.topics_by_id
        else _failed(UnknownTopicIdError.code, None, request=request, topic_id=topic_id)
        async for topic_id in turns.of(ids)
    ]


async def _by_name(
    broker: BrokerServices, names: Sequence[str], request: MetadataRequest
) -> list[MetadataResponseTopic]:
    errors: dict[str, int] = {}
    missing = [name for name in names if name not in broker.metadata.image.topics]
    is_enabled = broker.configs.boolean("auto.create.topics.enable")
    if missing and request.allow_auto_topic_creation and is_enabled:
        outcomes = zip(missing, await broker.topics.create_missing(missing), strict=True)
        errors = {name: each.code for name, each in outcomes if isinstance(each, KafkaError)}
    topics, turns = broker.metadata.image.topics, LoopTurns(broker.turns)
    return [
        await _described(topics[name], request, turns)
        if name in topics
        else _failed(errors.get(name) or missing_topic(name).code, name, request=request)
        async for name in turns.of(names)
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


async def _described(
    topic: TopicImage, request: MetadataRequest, turns: LoopTurns
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            _partition(index, each) async for index, each in turns.of(enumerate(topic.partitions))
        ],
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
