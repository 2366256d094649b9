"""AlterUserScramCredentials: golden bytes."""

from cordwood.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="n", mechanism=1)],
        upsertions=[
            ScramCredentialUpsertion(
                name="n", mechanism=2, iterations=3, salt=b"\x04", salted_password=b"\x05"
            )
        ],
    )
    wire = "02 026e 01 00 02 026e 02 00000003 0204 0205 00 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = AlterUserScramCredentialsResponse(
        throttle_time_ms=1,
        results=[AlterUserScramCredentialsResult(user="u", error_code=2, error_message="no")],
    )
    wire = "00000001 02 0275 0002 036e6f 00 00"

    assert_wire(message, wire, version=0)
