"""IncrementalAlterConfigs: golden bytes."""

from cordwood.protocol.messages.alter_configs import AlterConfigsResourceResponse
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=1,
                resource_name="r",
                configs=[AlterableConfig(name="n", config_operation=2, value=None)],
            )
        ],
        validate_only=True,
    )
    wire = "00000001 01 000172 00000001 00016e 02 ffff 01"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_1() -> None:
    message = IncrementalAlterConfigsResponse(
        throttle_time_ms=1,
        responses=[
            AlterConfigsResourceResponse(
                error_code=2, error_message="no", resource_type=3, resource_name="r"
            )
        ],
    )
    wire = "00000001 02 0002 036e6f 03 0272 00 00"

    assert_wire(message, wire, version=1)
