"""DescribeClientQuotas: golden bytes."""

from cordwood.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = DescribeClientQuotasRequest(
        components=[ComponentData(entity_type="e", match_type=1, match=None)], strict=True
    )
    wire = "00000001 000165 01 ffff 01"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_1() -> None:
    message = DescribeClientQuotasResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        entries=[
            EntryData(
                entity=[EntityData(entity_type="e", entity_name="e")],
                values=[ValueData(key="k", value=1.5)],
            )
        ],
    )
    wire = "00000001 0002 036e6f 02 02 0265 0265 00 02 026b 3ff8000000000000 00 00 00"

    assert_wire(message, wire, version=1)
