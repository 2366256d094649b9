"""SaslHandshake: selects the SASL mechanism.

After version 1 the tokens are sent in SaslAuthenticate. After version 0 they would follow without
any API, each with a length prefix.
"""

from cordwood.protocol.schema import Request, Response
from cordwood.protocol.wire_types import Int16, String


class SaslHandshakeRequest(Request, api_key=17, versions=(0, 1)):
    """The client's mechanism."""

    mechanism: String


class SaslHandshakeResponse(Response, api_key=17, versions=(0, 1)):
    """The broker's enabled mechanisms."""

    error_code: Int16
    mechanisms: list[String]
