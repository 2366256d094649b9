"""AlterUserScramCredentials: creates, replaces or deletes SCRAM credentials.

Mechanisms: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512. The password itself is never sent: the client salts
and hashes it.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bytes, Int8, Int16, Int32, String


class ScramCredentialDeletion(Struct):
    """A credential to delete."""

    name: String
    mechanism: Int8


class ScramCredentialUpsertion(Struct):
    """A credential to create or replace."""

    name: String
    mechanism: Int8
    iterations: Int32
    salt: Bytes
    salted_password: Bytes


class AlterUserScramCredentialsRequest(Request, api_key=51, versions=(0, 0), flexible_since=0):
    """The credentials to delete, and those to create or replace."""

    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]


class AlterUserScramCredentialsResult(Struct):
    """Result of one user."""

    user: String
    error_code: Int16
    error_message: String | None


class AlterUserScramCredentialsResponse(Response, api_key=51, versions=(0, 0), flexible_since=0):
    """Results by user."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[AlterUserScramCredentialsResult]
