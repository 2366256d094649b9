"""DescribeCluster and DescribeTopicPartitions: what Metadata tells, without topics or by pages."""

from typing import Final

from cordwood.broker.answer_errors import words_of
from cordwood.broker.broker import Broker
from cordwood.broker.image import PartitionImage
from cordwood.broker.operations import NOT_ASKED, OF_CLUSTER, OF_TOPIC
from cordwood.broker.request import RequestContext
from cordwood.broker.topic_pages import Part, Position, page_of
from cordwood.broker.topic_rules import missing_topic
from cordwood.core.errors import (
    KafkaError,
    MismatchedEndpointTypeError,
    UnsupportedEndpointTypeError,
)
from cordwood.core.ids import NO_UUID
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
    broker: Broker, context: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    """Tell of the brokers."""
    if request.endpoint_type == _CONTROLLERS:
        raise MismatchedEndpointTypeError(
            "The request was sent to an endpoint of type BROKER,"
            " but we wanted an endpoint of type CONTROLLER"
        )
    if request.endpoint_type != _BROKERS:
        raise UnsupportedEndpointTypeError(f"Unsupported endpoint type {request.endpoint_type}")
    image = broker.metadata.image
    is_asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        error_code=0,
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=each.node_id, host=endpoint.host, port=endpoint.port, rack=each.rack
            )
            for each, endpoint in image.reached_by(context.connection.listener)
        ],
        cluster_authorized_operations=OF_CLUSTER if is_asked else NOT_ASKED,
    )


async def describe_topic_partitions(
    broker: Broker, _context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """Tell of topics, one page of them."""
    limit = min(
        broker.configs.integer("max.request.partition.size.limit"),
        request.response_partition_limit,
    )
    cursor = request.cursor
    page = page_of(
        broker.metadata.image.topics,
        [topic.name for topic in request.topics],
        start=None if cursor is None else Position(cursor.topic_name, cursor.partition_index),
        limit=max(1, limit),
    )
    then = page.then
    return DescribeTopicPartitionsResponse(
        topics=[_topic(part) for part in page.parts],
        next_cursor=then and Cursor(topic_name=then.topic, partition_index=then.partition),
    )


def refused(request: Request, error: KafkaError, *, version: int) -> Response:  # noqa: ARG001 - alike in all
    """Tell the asker of the error."""
    if isinstance(request, DescribeClusterRequest):
        return DescribeClusterResponse(
            error_code=error.code,
            error_message=words_of(error),
            endpoint_type=request.endpoint_type,
            cluster_id="",
            brokers=[],
        )
    assert isinstance(request, DescribeTopicPartitionsRequest), "there is no other one here"
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


def _topic(part: Part) -> DescribeTopicPartitionsResponseTopic:
    if part.topic is None:
        return _failed(TopicRequest(name=part.name), missing_topic(part.name).code)
    partitions = part.topic.partitions
    return DescribeTopicPartitionsResponseTopic(
        error_code=0,
        name=part.name,
        topic_id=part.topic.topic_id,
        is_internal=part.topic.is_internal,
        partitions=[_partition(index, partitions[index]) for index in part.partitions],
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
