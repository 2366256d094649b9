"""ListConfigResources: golden bytes."""

from cordwood.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = ListConfigResourcesRequest(resource_types=[1, 2])
    wire = "03 01 02 00"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_1() -> None:
    message = ListConfigResourcesResponse(
        throttle_time_ms=1,
        error_code=2,
        config_resources=[ConfigResource(resource_name="r", resource_type=3)],
    )
    wire = "00000001 0002 02 0272 03 00 00"

    assert_wire(message, wire, version=1)
