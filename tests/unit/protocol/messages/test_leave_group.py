"""LeaveGroup: golden bytes."""

from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_3() -> None:
    message = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")])
    wire = "000167 00000001 00016d ffff"

    assert_wire(message, wire, version=3)


def test_request_is_kafkas_in_version_5() -> None:
    message = LeaveGroupRequest(
        group_id="g", members=[MemberIdentity(member_id="m", group_instance_id="i", reason="r")]
    )
    wire = "0267 02 026d 0269 0272 00 00"

    assert_wire(message, wire, version=5)


def test_response_is_kafkas_in_version_3() -> None:
    message = LeaveGroupResponse(
        throttle_time_ms=1,
        error_code=2,
        members=[MemberResponse(member_id="m", group_instance_id=None, error_code=3)],
    )
    wire = "00000001 0002 00000001 00016d ffff 0003"

    assert_wire(message, wire, version=3)


def test_response_is_kafkas_in_version_5() -> None:
    message = LeaveGroupResponse(
        throttle_time_ms=1,
        error_code=2,
        members=[MemberResponse(member_id="m", group_instance_id="i", error_code=3)],
    )
    wire = "00000001 0002 02 026d 0269 0003 00 00"

    assert_wire(message, wire, version=5)
