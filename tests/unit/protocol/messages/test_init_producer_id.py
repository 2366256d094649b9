"""InitProducerId: golden bytes."""

from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    wire = "ffff 00000001"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_5() -> None:
    message = InitProducerIdResponse(
        throttle_time_ms=1, error_code=2, producer_id=3, producer_epoch=4
    )
    wire = "00000001 0002 0000000000000003 0004 00"

    assert_wire(message, wire, version=5)
