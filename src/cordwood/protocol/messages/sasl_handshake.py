"""SaslHandshake: the mechanism to authenticate with.

After version 1 the tokens travel in SaslAuthenticate; after version 0 they would follow raw, each
behind its length.
"""

from cordwood.protocol.schema import Request, Response
from cordwood.protocol.wire import Int16, String


class SaslHandshakeRequest(Request, api_key=17, versions=(0, 1)):
    """The mechanism that the client chose."""

    mechanism: String


class SaslHandshakeResponse(Response, api_key=17, versions=(0, 1)):
    """The mechanisms that the broker has."""

    error_code: Int16
    mechanisms: list[String]
