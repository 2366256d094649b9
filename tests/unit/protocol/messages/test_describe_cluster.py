"""DescribeCluster: golden bytes."""

from cordwood.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = DescribeClusterRequest(
        include_cluster_authorized_operations=True, endpoint_type=1, include_fenced_brokers=True
    )
    wire = "01 01 01 00"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_2() -> None:
    message = DescribeClusterResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        endpoint_type=3,
        cluster_id="C",
        controller_id=4,
        brokers=[DescribeClusterBroker(broker_id=5, host="h", port=6, rack="r", is_fenced=True)],
        cluster_authorized_operations=7,
    )
    wire = "00000001 0002 036e6f 03 0243 00000004 02 00000005 0268 00000006 0272 01 00 00000007 00"

    assert_wire(message, wire, version=2)
