"""What stands in front of every message, and which version of it goes with which message.

    request    v0   api key int16, api version int16, correlation id int32
               v1   and client id, a nullable string that stays in its old form for ever
               v2   and tagged fields; in front of flexible requests
    response   v0   correlation id int32
               v1   and tagged fields; in front of flexible answers

Two exceptions: an answer to ApiVersions always has v0, since a client that asked for too new a
version has to be able to read it; and a ControlledShutdown of version 0 has no client id.
"""

from struct import Struct as Layout
from typing import Final

from cordwood.core.errors import BytesError
from cordwood.protocol.apis import API_VERSIONS, CONTROLLED_SHUTDOWN, Api, api_of
from cordwood.protocol.codec import reader, writer
from cordwood.protocol.schema import Data, field
from cordwood.protocol.wire import Int16, Int32, String

_KEY_AND_VERSION: Final = Layout(">hh")


class RequestHeader(Data, versions=(0, 2), flexible_since=2):
    """Who asks what; `client_id` is what the client calls itself, null and empty included."""

    request_api_key: Int16
    request_api_version: Int16
    correlation_id: Int32
    client_id: String | None = field(since=1, default="", ignorable=True, flexible=False)


class ResponseHeader(Data, versions=(0, 1), flexible_since=1):
    """Which request is answered."""

    correlation_id: Int32


def request_header_version(api: Api, version: int) -> int:
    """Return which header stands in front of a request."""
    if api is CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if api.is_flexible_in(version) else 1


def response_header_version(api: Api, version: int) -> int:
    """Return which header stands in front of an answer."""
    return 1 if api is not API_VERSIONS and api.is_flexible_in(version) else 0


def read_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """Return a request's header and where its body begins.

    A version that nobody serves is no error here. An unknown API is `UnsupportedVersionError`.
    """
    if len(frame) < _KEY_AND_VERSION.size:
        raise BytesError(
            "no room for a header", position=0, expected=_KEY_AND_VERSION.size, found=len(frame)
        )
    key, version = _KEY_AND_VERSION.unpack_from(frame)
    return reader(RequestHeader, request_header_version(api_of(key), version))(frame, 0)


def append_request_header(out: bytearray, header: RequestHeader) -> None:
    """Append the header that its own request asks for."""
    api = api_of(header.request_api_key)
    version = request_header_version(api, header.request_api_version)
    writer(RequestHeader, version)(header, out)


def read_response_header(
    frame: memoryview, api: Api, *, version: int
) -> tuple[ResponseHeader, int]:
    """Return the header of an answer to a request of this version, and where its body begins."""
    return reader(ResponseHeader, response_header_version(api, version))(frame, 0)


def append_response_header(
    out: bytearray, header: ResponseHeader, *, api: Api, version: int
) -> None:
    """Append the header of an answer to a request of this version."""
    writer(ResponseHeader, response_header_version(api, version))(header, out)
