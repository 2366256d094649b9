"""DescribeUserScramCredentials: golden bytes."""

from cordwood.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = DescribeUserScramCredentialsRequest(users=None)
    wire = "00 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = DescribeUserScramCredentialsResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        results=[
            DescribeUserScramCredentialsResult(
                user="u",
                error_code=3,
                error_message="no",
                credential_infos=[CredentialInfo(mechanism=4, iterations=5)],
            )
        ],
    )
    wire = "00000001 0002 036e6f 02 0275 0003 036e6f 02 04 00000005 00 00 00"

    assert_wire(message, wire, version=0)
