"""UnregisterBroker: golden bytes."""

from cordwood.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = UnregisterBrokerRequest(broker_id=1)
    wire = "00000001 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = UnregisterBrokerResponse(throttle_time_ms=1, error_code=2, error_message="no")
    wire = "00000001 0002 036e6f 00"

    assert_wire(message, wire, version=0)
