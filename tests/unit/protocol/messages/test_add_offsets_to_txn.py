"""AddOffsetsToTxn: golden bytes."""

from cordwood.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = AddOffsetsToTxnRequest(
        transactional_id="x", producer_id=1, producer_epoch=2, group_id="g"
    )
    wire = "000178 0000000000000001 0002 000167"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_4() -> None:
    message = AddOffsetsToTxnResponse(throttle_time_ms=1, error_code=2)
    wire = "00000001 0002 00"

    assert_wire(message, wire, version=4)
