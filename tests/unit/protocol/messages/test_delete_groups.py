"""DeleteGroups: golden bytes."""

from cordwood.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = DeleteGroupsRequest(group_names=["g"])
    wire = "00000001 000167"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_2() -> None:
    message = DeleteGroupsResponse(
        throttle_time_ms=1, results=[DeletableGroupResult(group_id="g", error_code=2)]
    )
    wire = "00000001 02 0267 0002 00 00"

    assert_wire(message, wire, version=2)
