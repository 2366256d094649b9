"""SaslHandshake: golden bytes."""

from cordwood.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = SaslHandshakeRequest(mechanism="PLAIN")
    wire = "0005504c41494e"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_1() -> None:
    message = SaslHandshakeResponse(error_code=1, mechanisms=["m"])
    wire = "0001 00000001 00016d"

    assert_wire(message, wire, version=1)
