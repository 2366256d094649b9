"""AlterClientQuotas: golden bytes."""

from cordwood.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredEntry,
    AlteredEntryResult,
    OpData,
)
from cordwood.protocol.messages.describe_client_quotas import EntityData
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = AlterClientQuotasRequest(
        entries=[
            AlteredEntry(
                entity=[EntityData(entity_type="e", entity_name=None)],
                ops=[OpData(key="k", value=1.5, remove=True)],
            )
        ],
        validate_only=True,
    )
    wire = "00000001 00000001 000165 ffff 00000001 00016b 3ff8000000000000 01 01"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_1() -> None:
    message = AlterClientQuotasResponse(
        throttle_time_ms=1,
        entries=[
            AlteredEntryResult(
                error_code=2,
                error_message="no",
                entity=[EntityData(entity_type="e", entity_name="e")],
            )
        ],
    )
    wire = "00000001 02 0002 036e6f 02 0265 0265 00 00 00"

    assert_wire(message, wire, version=1)
