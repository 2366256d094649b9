"""AlterUserScramCredentials: SCRAM credentials, made, replaced or deleted.

Mechanisms: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512. The password itself never travels: the client salts
and hashes it.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bytes, Int8, Int16, Int32, String


class ScramCredentialDeletion(Struct):
    """A credential to delete."""

    name: String
    mechanism: Int8


class ScramCredentialUpsertion(Struct):
    """A credential to have."""

    name: String
    mechanism: Int8
    iterations: Int32
    salt: Bytes
    salted_password: Bytes


class AlterUserScramCredentialsRequest(Request, api_key=51, versions=(0, 0), flexible_since=0):
    """What to delete, and what to make or replace."""

    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]


class AlterUserScramCredentialsResult(Struct):
    """What became of one user."""

    user: String
    error_code: Int16
    error_message: String | None


class AlterUserScramCredentialsResponse(Response, api_key=51, versions=(0, 0), flexible_since=0):
    """How it went, user by user."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[AlterUserScramCredentialsResult]
