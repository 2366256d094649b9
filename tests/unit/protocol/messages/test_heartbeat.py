"""Heartbeat: golden bytes."""

from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_3() -> None:
    message = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    wire = "000167 00000001 00016d ffff"

    assert_wire(message, wire, version=3)


def test_response_is_kafkas_in_version_4() -> None:
    message = HeartbeatResponse(throttle_time_ms=1, error_code=2)
    wire = "00000001 0002 00"

    assert_wire(message, wire, version=4)
