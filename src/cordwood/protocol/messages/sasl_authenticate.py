"""SaslAuthenticate: one step of a SASL exchange, each way.

Version 1 tells how long the session will last: a client authenticates again before that, on the
live connection. Version 2 is flexible.
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire import Bytes, Int16, Int64, String


class SaslAuthenticateRequest(Request, api_key=36, versions=(0, 2), flexible_since=2):
    """The client's token."""

    auth_bytes: Bytes


class SaslAuthenticateResponse(Response, api_key=36, versions=(0, 2), flexible_since=2):
    """The server's token, or why the client is not let in."""

    error_code: Int16
    error_message: String | None
    auth_bytes: Bytes
    #: 0 for ever.
    session_lifetime_ms: Int64 = field(since=1, default=0, ignorable=True)
