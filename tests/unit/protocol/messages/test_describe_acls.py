"""DescribeAcls: golden bytes."""

from cordwood.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=2,
        principal_filter=None,
        host_filter=None,
        operation=3,
        permission_type=4,
    )
    wire = "01 ffff 02 ffff ffff 03 04"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_3() -> None:
    message = DescribeAclsResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        resources=[
            DescribeAclsResource(
                resource_type=3,
                resource_name="r",
                pattern_type=4,
                acls=[AclDescription(principal="p", host="h", operation=5, permission_type=6)],
            )
        ],
    )
    wire = "00000001 0002 036e6f 02 03 0272 04 02 0270 0268 05 06 00 00 00"

    assert_wire(message, wire, version=3)
