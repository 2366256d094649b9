"""FindCoordinator: golden bytes."""

from cordwood.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = FindCoordinatorRequest(key="k", key_type=1)
    wire = "00016b 01"

    assert_wire(message, wire, version=2)


def test_request_is_kafkas_in_version_6() -> None:
    message = FindCoordinatorRequest(key_type=1, coordinator_keys=["c"])
    wire = "01 02 0263 00"

    assert_wire(message, wire, version=6)


def test_response_is_kafkas_in_version_2() -> None:
    message = FindCoordinatorResponse(
        throttle_time_ms=1, error_code=2, error_message=None, node_id=3, host="h", port=4
    )
    wire = "00000001 0002 ffff 00000003 000168 00000004"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_6() -> None:
    message = FindCoordinatorResponse(
        throttle_time_ms=1,
        coordinators=[
            Coordinator(key="k", node_id=2, host="h", port=3, error_code=4, error_message="no")
        ],
    )
    wire = "00000001 02 026b 00000002 0268 00000003 0004 036e6f 00 00"

    assert_wire(message, wire, version=6)
