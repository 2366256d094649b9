"""SaslAuthenticate: golden bytes."""

from cordwood.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = SaslAuthenticateRequest(auth_bytes=b"\x01")
    wire = "0000000101"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_2() -> None:
    message = SaslAuthenticateResponse(
        error_code=1, error_message="no", auth_bytes=b"\x02", session_lifetime_ms=3
    )
    wire = "0001 036e6f 0202 0000000000000003 00"

    assert_wire(message, wire, version=2)
