"""Tests of the handlers of DescribeCluster and DescribeTopicPartitions."""

import pytest

from cordwood.broker.handlers.cluster import (
    describe_cluster,
    describe_topic_partitions,
    error_response,
)
from cordwood.broker.topics.authorized_operations import NOT_REQUESTED, OF_CLUSTER
from cordwood.core.errors import (
    InvalidRequestError,
    MismatchedEndpointTypeError,
    UnsupportedEndpointTypeError,
)
from cordwood.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from cordwood.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.image_samples import topic


def describe(*, endpoint_type: int = 1, is_asking: bool = False) -> DescribeClusterResponse:
    harness = BrokerHarness()
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=is_asking, endpoint_type=endpoint_type
    )
    return run(describe_cluster(harness.broker, harness.context(2), request))


def page(
    *names: str, cursor: Cursor | None = None, limit: int = 2000, given: str = "2000"
) -> DescribeTopicPartitionsResponse:
    harness = BrokerHarness(given={"max.request.partition.size.limit": given})
    harness.metadata.publish(harness.metadata.image.with_topic(topic("a", 2), topic("b", 3)))
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor,
    )
    return run(describe_topic_partitions(harness.broker, harness.context(0), request))


def told(answer: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [(each.name, [p.partition_index for p in each.partitions]) for each in answer.topics]


def test_cluster_is_described_with_its_brokers() -> None:
    answer = describe()

    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (0, "c", 1)
    assert answer.brokers == [DescribeClusterBroker(broker_id=1, host="h", port=9091)]
    assert answer.cluster_authorized_operations == NOT_REQUESTED


def test_authorized_operations_are_returned_on_request() -> None:
    assert describe(is_asking=True).cluster_authorized_operations == OF_CLUSTER


@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    ((2, MismatchedEndpointTypeError), (3, UnsupportedEndpointTypeError)),
)
def test_other_endpoint_types_are_rejected(endpoint_type: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        describe(endpoint_type=endpoint_type)


def test_pages_follow_each_other() -> None:
    first = page(limit=4)
    second = page(limit=4, cursor=first.next_cursor)

    assert told(first) == [("a", [0, 1]), ("b", [0, 1])]
    assert told(second) == [("b", [2])]
    assert second.next_cursor is None


def test_page_is_limited_by_the_broker() -> None:
    answer = page(given="1")

    assert told(answer) == [("a", [0])]
    assert answer.next_cursor == Cursor(topic_name="a", partition_index=1)


def test_page_has_at_least_one_partition() -> None:
    assert told(page(limit=0)) == [("a", [0])]


def test_missing_topics_have_errors() -> None:
    answer = page("x", "x/y", "a")

    assert [(each.name, each.error_code) for each in answer.topics] == [
        ("a", 0),
        ("x", 3),
        ("x/y", 17),
    ]


def test_quirk_08_lists_of_eligible_leaders_are_empty_and_never_null() -> None:
    for each in page().topics[0].partitions:
        assert each.eligible_leader_replicas == []
        assert each.last_known_elr == []


def test_error_responses_have_the_error_in_kafka_s_fields() -> None:
    error = InvalidRequestError("no")
    cluster = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=7)
    topics = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="a")])

    of_cluster, of_topics = (error_response(each, error, version=0) for each in (cluster, topics))

    assert isinstance(of_cluster, DescribeClusterResponse)
    assert (of_cluster.error_code, of_cluster.error_message) == (42, "no")
    assert isinstance(of_topics, DescribeTopicPartitionsResponse)
    assert [(each.name, each.error_code) for each in of_topics.topics] == [("a", 42)]
