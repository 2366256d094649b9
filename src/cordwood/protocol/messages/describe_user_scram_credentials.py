"""DescribeUserScramCredentials: the users that have SCRAM credentials, without the credentials.

Mechanisms: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, String


class UserName(Struct):
    """A user."""

    name: String


class DescribeUserScramCredentialsRequest(Request, api_key=50, versions=(0, 0), flexible_since=0):
    """The users to describe; None for all."""

    users: list[UserName] | None


class CredentialInfo(Struct):
    """A mechanism and its iteration count."""

    mechanism: Int8
    iterations: Int32


class DescribeUserScramCredentialsResult(Struct):
    """The credentials of one user; RESOURCE_NOT_FOUND if there are none."""

    user: String
    error_code: Int16
    error_message: String | None
    credential_infos: list[CredentialInfo]


class DescribeUserScramCredentialsResponse(Response, api_key=50, versions=(0, 0), flexible_since=0):
    """The credentials by user."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None
    results: list[DescribeUserScramCredentialsResult]
