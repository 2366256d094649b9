"""SyncGroup: golden bytes."""

from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_3() -> None:
    message = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id="m",
        assignments=[SyncGroupRequestAssignment(member_id="m", assignment=b"\x02")],
    )
    wire = "000167 00000001 00016d ffff 00000001 00016d 0000000102"

    assert_wire(message, wire, version=3)


def test_response_is_kafkas_in_version_5() -> None:
    message = SyncGroupResponse(
        throttle_time_ms=1,
        error_code=2,
        protocol_type="consumer",
        protocol_name="p",
        assignment=b"\x03",
    )
    wire = "00000001 0002 09636f6e73756d6572 0270 0203 00"

    assert_wire(message, wire, version=5)
