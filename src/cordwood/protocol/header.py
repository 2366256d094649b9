"""Request and response headers, and their versions (Kafka: `RequestHeader`, `ResponseHeader`).

    request    v0   api key int16, api version int16, correlation id int32
               v1   adds client id, a nullable string, never compact
               v2   adds tagged fields; used by flexible requests
    response   v0   correlation id int32
               v1   adds tagged fields; used by flexible responses

There are two exceptions. The response to ApiVersions always has v0, because a client that requested
a too new version must be able to read it. A ControlledShutdown request of version 0 has no client
id.
"""

from struct import Struct as Layout
from typing import Final

from cordwood.core.errors import BytesError
from cordwood.protocol.apis import API_VERSIONS, CONTROLLED_SHUTDOWN, Api, api_of
from cordwood.protocol.codec import reader, writer
from cordwood.protocol.schema import Data, field
from cordwood.protocol.wire_types import Int16, Int32, String

_KEY_AND_VERSION: Final = Layout(">hh")
_CORRELATION_ID: Final = Layout(">i")
_NO_TAGGED_FIELDS: Final = b"\0"


class RequestHeader(Data, versions=(0, 2), flexible_since=2):
    """API, version and correlation id of a request; `client_id` may be null or empty."""

    request_api_key: Int16
    request_api_version: Int16
    correlation_id: Int32
    client_id: String | None = field(since=1, default="", ignorable=True, flexible=False)


class ResponseHeader(Data, versions=(0, 1), flexible_since=1):
    """Correlation id of the request that is answered."""

    correlation_id: Int32


def request_header_version(api: Api, version: int) -> int:
    """Return the header version of a request."""
    if api is CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if api.is_flexible_in(version) else 1


def response_header_version(api: Api, version: int) -> int:
    """Return the header version of a response."""
    return 1 if api is not API_VERSIONS and api.is_flexible_in(version) else 0


def read_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """Return a request's header and the start of its body.

    An unsupported version is not an error here. An unknown API is an UnsupportedVersionError.
    """
    if len(frame) < _KEY_AND_VERSION.size:
        raise BytesError(
            "no room for a header", position=0, expected=_KEY_AND_VERSION.size, found=len(frame)
        )
    key, version = _KEY_AND_VERSION.unpack_from(frame)
    return reader(RequestHeader, request_header_version(api_of(key), version))(frame, 0)


def append_request_header(out: bytearray, header: RequestHeader) -> None:
    """Append a request's header."""
    api = api_of(header.request_api_key)
    version = request_header_version(api, header.request_api_version)
    writer(RequestHeader, version)(header, out)


def read_response_header(
    frame: memoryview, api: Api, *, version: int
) -> tuple[ResponseHeader, int]:
    """Return the header of a response, and the start of its body; `version` is the request's."""
    return reader(ResponseHeader, response_header_version(api, version))(frame, 0)


def append_response_header(
    out: bytearray, header: ResponseHeader, *, api: Api, version: int
) -> None:
    """Append the header of a response to a request of this version."""
    writer(ResponseHeader, response_header_version(api, version))(header, out)


def response_header(api: Api, version: int, *, correlation_id: int) -> bytes:
    """Return the encoded header of a response without tagged fields.

    Each response of a broker needs one, and a `ResponseHeader` would take four times as long.
    """
    encoded = _CORRELATION_ID.pack(correlation_id)
    return encoded + _NO_TAGGED_FIELDS if response_header_version(api, version) else encoded
