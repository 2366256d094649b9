"""SaslAuthenticate: one step of a SASL exchange in each direction.

Version 1 returns the session's lifetime: a client re-authenticates on the same connection before
its end. Version 2 is flexible.
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire_types import Bytes, Int16, Int64, String


class SaslAuthenticateRequest(Request, api_key=36, versions=(0, 2), flexible_since=2):
    """The client's token."""

    auth_bytes: Bytes


class SaslAuthenticateResponse(Response, api_key=36, versions=(0, 2), flexible_since=2):
    """The server's token, or the authentication error."""

    error_code: Int16
    error_message: String | None
    auth_bytes: Bytes
    #: 0: unlimited.
    session_lifetime_ms: Int64 = field(since=1, default=0, ignorable=True)
