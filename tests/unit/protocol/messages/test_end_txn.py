"""EndTxn: golden bytes."""

from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = EndTxnRequest(transactional_id="x", producer_id=1, producer_epoch=2, committed=True)
    wire = "000178 0000000000000001 0002 01"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_5() -> None:
    message = EndTxnResponse(throttle_time_ms=1, error_code=2, producer_id=3, producer_epoch=4)
    wire = "00000001 0002 0000000000000003 0004 00"

    assert_wire(message, wire, version=5)
