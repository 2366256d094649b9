"""DescribeCluster and DescribeTopicPartitions handlers: Metadata without topics, or in pages."""

from functools import partial
from typing import Final

from cordwood.broker.large_messages import ELEMENTS_PER_TURN
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.pending_results import wait_for
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.authorized_operations import NOT_REQUESTED, OF_CLUSTER, OF_TOPIC
from cordwood.broker.topics.topic_pages import (
    SortedTopics,
    TopicCursor,
    TopicPageEntry,
    page_of,
    sorted_topics,
)
from cordwood.broker.topics.topic_validation import missing_topic
from cordwood.core.errors import (
    KafkaError,
    MismatchedEndpointTypeError,
    UnsupportedEndpointTypeError,
    error_message_of,
)
from cordwood.core.ports import Lane
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from cordwood.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from cordwood.protocol.schema import Request, Response

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


async def describe_cluster(
    broker: BrokerServices, context: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    """Return the brokers, with their endpoints on the client's listener."""
    if request.endpoint_type == _CONTROLLERS:
        raise MismatchedEndpointTypeError(
            "The request was sent to an endpoint of type BROKER,"
            " but we wanted an endpoint of type CONTROLLER"
        )
    if request.endpoint_type != _BROKERS:
        raise UnsupportedEndpointTypeError(f"Unsupported endpoint type {request.endpoint_type}")
    image = broker.metadata.image
    is_requested = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        error_code=0,
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=each.node_id, host=endpoint.host, port=endpoint.port, rack=each.rack
            )
            for each, endpoint in image.endpoints_of(context.connection.listener)
        ],
        cluster_authorized_operations=OF_CLUSTER if is_requested else NOT_REQUESTED,
    )


async def describe_topic_partitions(
    broker: BrokerServices, _context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """Return one page of topics."""
    limit = min(
        broker.configs.integer("max.request.partition.size.limit"),
        request.response_partition_limit,
    )
    cursor = request.cursor
    turns = LoopTurns(broker.turns)
    find = partial(
        page_of,
        await broker.metadata.derive(SortedTopics, sorted_topics),
        [topic.name for topic in request.topics],
        start=None if cursor is None else TopicCursor(cursor.topic_name, cursor.partition_index),
        limit=max(1, limit),
    )
    if len(request.topics) <= ELEMENTS_PER_TURN:
        page = find()
    else:
        page = await wait_for(broker.logs.ports.worker.submit(find, lane=Lane.COMPUTE))
    turns.begin()
    following = page.next_cursor
    return DescribeTopicPartitionsResponse(
        topics=[await _topic(entry, turns) async for entry in turns.of(page.entries)],
        next_cursor=following
        and Cursor(topic_name=following.topic, partition_index=following.partition),
    )


def error_response(request: Request, error: KafkaError, *, version: int) -> Response:  # noqa: ARG001 - one signature for all
    """Return the response that carries the error."""
    if isinstance(request, DescribeClusterRequest):
        return DescribeClusterResponse(
            error_code=error.code,
            error_message=error_message_of(error),
            endpoint_type=request.endpoint_type,
            cluster_id="",
            brokers=[],
        )
    assert isinstance(request, DescribeTopicPartitionsRequest), "this module has two APIs"
    return DescribeTopicPartitionsResponse(
        topics=[_failed(topic, error.code) for topic in request.topics]
    )


def _failed(topic: TopicRequest, code: int) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=topic.name,
        topic_id=NO_UUID,
        partitions=[],
        topic_authorized_operations=OF_TOPIC,
    )


async def _topic(entry: TopicPageEntry, turns: LoopTurns) -> DescribeTopicPartitionsResponseTopic:
    if entry.topic is None:
        return _failed(TopicRequest(name=entry.name), missing_topic(entry.name).code)
    partitions = entry.topic.partitions
    return DescribeTopicPartitionsResponseTopic(
        error_code=0,
        name=entry.name,
        topic_id=entry.topic.topic_id,
        is_internal=entry.topic.is_internal,
        partitions=[
            _partition(index, partitions[index]) async for index in turns.of(entry.partitions)
        ],
        topic_authorized_operations=OF_TOPIC,
    )


def _partition(index: int, partition: PartitionImage) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        error_code=partition.error_code,
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=[*partition.replicas],
        isr_nodes=[*partition.isr],
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[*partition.offline_replicas],
    )
