"""DescribeConfigs: golden bytes."""

from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_3() -> None:
    message = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=1, resource_name="r", configuration_keys=None)
        ],
        include_synonyms=True,
        include_documentation=True,
    )
    wire = "00000001 01 000172 ffffffff 01 01"

    assert_wire(message, wire, version=3)


def test_response_is_kafkas_in_version_4() -> None:
    message = DescribeConfigsResponse(
        throttle_time_ms=1,
        results=[
            DescribeConfigsResult(
                error_code=2,
                error_message="no",
                resource_type=3,
                resource_name="r",
                configs=[
                    DescribeConfigsResourceResult(
                        name="n",
                        value="v",
                        read_only=True,
                        config_source=4,
                        is_sensitive=True,
                        synonyms=[DescribeConfigsSynonym(name="n", value="v", source=5)],
                        config_type=6,
                        documentation="d",
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 02 0002 036e6f 03 0272 02 026e 0276 01 04 01 02 026e 0276 05 00 06 0264 00 00 00"
    )

    assert_wire(message, wire, version=4)
