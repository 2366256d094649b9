"""Requests of one connection that await their responses (Java: `InFlightRequests`), sans-IO.

A broker answers in request order, so a response belongs to the oldest request in flight. The
correlation id of the response must match. A request without a response (`acks=0`) is not tracked.
"""

from collections import deque
from typing import Final, NamedTuple

from cordwood.core.errors import BytesError, UnsupportedVersionError, error_from_code
from cordwood.protocol.apis import API_VERSIONS, Api, api_of
from cordwood.protocol.codec import decode, encode
from cordwood.protocol.framing import framed
from cordwood.protocol.header import (
    RequestHeader,
    append_request_header,
    read_response_header,
)
from cordwood.protocol.messages.api_versions import ApiVersionsResponse
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Request
from cordwood.protocol.versions import choose_version

_LAST_ID: Final = 0x7FFFFFFF


class InFlightRequest(NamedTuple):
    """A request that was sent."""

    api: Api
    version: int
    correlation_id: int


class InFlightRequests:
    """Requests and responses of one connection.

    `versions` are the broker's API version ranges, `features` the finalized levels of its cluster.
    """

    def __init__(self, client_id: str) -> None:
        self.versions: dict[int, tuple[int, int]] = {}
        self.features: dict[str, int] = {}
        self._client_id = client_id
        self._next_id = 0
        self._waiting: deque[InFlightRequest] = deque()

    def version_of(self, kind: type[Request]) -> int:
        """Return the newest shared version; UnsupportedVersionError if there is none."""
        api = api_of_kind(kind)
        return choose_version(api, ours=kind.__schema__.versions, theirs=self.versions.get(api.key))

    def add(
        self, request: Request, version: int, *, has_response: bool = True
    ) -> tuple[InFlightRequest, list[Chunk]]:
        """Return the request's frame, and its entry for decoding the response."""
        request_sent = InFlightRequest(api_of_kind(type(request)), version, self._next_id)
        self._next_id = (self._next_id + 1) & _LAST_ID
        header = bytearray()
        append_request_header(
            header,
            RequestHeader(
                request_api_key=request_sent.api.key,
                request_api_version=version,
                correlation_id=request_sent.correlation_id,
                client_id=self._client_id,
            ),
        )
        chunks = framed(header, encode(request, version))
        if has_response:
            self._waiting.append(request_sent)
        return request_sent, chunks

    def complete(self, frame: bytearray) -> memoryview:
        """Return the body of the oldest request's response; BytesError for a foreign frame."""
        if not self._waiting:
            raise BytesError("a response", position=0, expected="none", found=f"{len(frame)} bytes")
        request_sent = self._waiting.popleft()
        view = memoryview(frame)
        header, at = read_response_header(view, request_sent.api, version=request_sent.version)
        if header.correlation_id != request_sent.correlation_id:
            raise BytesError(
                "a correlation id",
                position=0,
                expected=request_sent.correlation_id,
                found=header.correlation_id,
            )
        return view[at:]

    def update_versions(self, body: memoryview, version: int) -> int | None:
        """Store the ApiVersions response; return the version to retry with if the broker rejected
        ours.

        A broker that does not support the requested version answers in version 0 and lists its own
        range.
        """
        is_rejected = int.from_bytes(body[:2], signed=True) == UnsupportedVersionError.code
        response = decode(ApiVersionsResponse, body, 0 if is_rejected else version)
        ranges = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
        if is_rejected and version > 0:
            return min(version - 1, ranges.get(API_VERSIONS.key, (0, 0))[1])
        if response.error_code:
            raise error_from_code(response.error_code, "the broker reports no API versions")
        self.versions = ranges
        if response.finalized_features_epoch >= 0:
            self.features = {
                each.name: each.max_version_level for each in response.finalized_features
            }
        return None


def api_of_kind(kind: type[Request]) -> Api:
    """Return the API of a request class."""
    key = kind.__schema__.api_key
    assert key is not None, "every request class has an API key"
    return api_of(key)
