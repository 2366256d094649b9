"""JoinGroup: golden bytes."""

from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_5() -> None:
    message = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=1,
        rebalance_timeout_ms=2,
        member_id="m",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="n", metadata=b"\x03")],
    )
    wire = "000167 00000001 00000002 00016d ffff 0008636f6e73756d6572 00000001 00016e 0000000103"

    assert_wire(message, wire, version=5)


def test_request_is_kafkas_in_version_9() -> None:
    message = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=1,
        rebalance_timeout_ms=2,
        member_id="m",
        group_instance_id="i",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="n", metadata=b"\x03")],
        reason="r",
    )
    wire = "0267 00000001 00000002 026d 0269 09636f6e73756d6572 02 026e 0203 00 0272 00"

    assert_wire(message, wire, version=9)


def test_response_is_kafkas_in_version_5() -> None:
    message = JoinGroupResponse(
        throttle_time_ms=1,
        error_code=2,
        generation_id=3,
        protocol_name="p",
        leader="l",
        member_id="m",
        members=[JoinGroupResponseMember(member_id="m", metadata=b"\x04")],
    )
    wire = "00000001 0002 00000003 000170 00016c 00016d 00000001 00016d ffff 0000000104"

    assert_wire(message, wire, version=5)


def test_response_is_kafkas_in_version_9() -> None:
    message = JoinGroupResponse(
        throttle_time_ms=1,
        error_code=2,
        generation_id=3,
        protocol_type="consumer",
        protocol_name="p",
        leader="l",
        skip_assignment=True,
        member_id="m",
        members=[JoinGroupResponseMember(member_id="m", group_instance_id="i", metadata=b"\x04")],
    )
    wire = "00000001 0002 00000003 09636f6e73756d6572 0270 026c 01 026d 02 026d 0269 0204 00 00"

    assert_wire(message, wire, version=9)
