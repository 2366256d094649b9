"""ListGroups: golden bytes."""

from cordwood.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = ListGroupsRequest()
    wire = ""

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_5() -> None:
    message = ListGroupsResponse(
        throttle_time_ms=1,
        error_code=2,
        groups=[
            ListedGroup(group_id="g", protocol_type="consumer", group_state="g", group_type="g")
        ],
    )
    wire = "00000001 0002 02 0267 09636f6e73756d6572 0267 0267 00 00"

    assert_wire(message, wire, version=5)
