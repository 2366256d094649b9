"""DescribeGroups: golden bytes."""

from cordwood.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_4() -> None:
    message = DescribeGroupsRequest(groups=["g"], include_authorized_operations=True)
    wire = "00000001 000167 01"

    assert_wire(message, wire, version=4)


def test_response_is_kafkas_in_version_6() -> None:
    message = DescribeGroupsResponse(
        throttle_time_ms=1,
        groups=[
            DescribedGroup(
                error_code=2,
                error_message="no",
                group_id="g",
                group_state="g",
                protocol_type="consumer",
                protocol_data="p",
                members=[
                    DescribedGroupMember(
                        member_id="m",
                        group_instance_id="i",
                        client_id="c",
                        client_host="/h",
                        member_metadata=b"\x03",
                        member_assignment=b"\x04",
                    )
                ],
                authorized_operations=5,
            )
        ],
    )
    wire = (
        "00000001 02 0002 036e6f 0267 0267 09636f6e73756d6572 0270 02 026d 0269 0263 032f68 "
        "0203 0204 00 00000005 00 00"
    )

    assert_wire(message, wire, version=6)
