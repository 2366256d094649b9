"""One connection's requests and answers, without the connection: frames out, answers in.

A broker answers in the order in which it was asked, so an answer belongs to the oldest request that
waits; its correlation id has to say the same. A request that wants no answer is not waited for.
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


class Asked(NamedTuple):
    """A request that was sent."""

    api: Api
    version: int
    correlation_id: int


class Exchange:
    """Both directions of a connection; `versions` is what the broker has said that it speaks."""

    def __init__(self, client_id: str) -> None:
        self.versions: dict[int, tuple[int, int]] = {}
        self._client_id = client_id
        self._next_id = 0
        self._waiting: deque[Asked] = deque()

    def version_of(self, kind: type[Request]) -> int:
        """Return the version in which both sides speak; UnsupportedVersionError where none is."""
        api = api_of_kind(kind)
        return choose_version(api, ours=kind.__schema__.versions, theirs=self.versions.get(api.key))

    def ask(
        self, request: Request, version: int, *, is_answered: bool = True
    ) -> tuple[Asked, list[Chunk]]:
        """Return a request's frame, and what its answer is told by."""
        asked = Asked(api_of_kind(type(request)), version, self._next_id)
        self._next_id = (self._next_id + 1) & _LAST_ID
        header = bytearray()
        append_request_header(
            header,
            RequestHeader(
                request_api_key=asked.api.key,
                request_api_version=version,
                correlation_id=asked.correlation_id,
                client_id=self._client_id,
            ),
        )
        chunks = framed(header, encode(request, version))
        if is_answered:
            self._waiting.append(asked)
        return asked, chunks

    def answered(self, frame: bytearray) -> memoryview:
        """Return the body of the oldest request's answer; BytesError if the frame is another's."""
        if not self._waiting:
            raise BytesError("an answer", position=0, expected="none", found=f"{len(frame)} bytes")
        asked = self._waiting.popleft()
        view = memoryview(frame)
        header, at = read_response_header(view, asked.api, version=asked.version)
        if header.correlation_id != asked.correlation_id:
            raise BytesError(
                "a correlation id",
                position=0,
                expected=asked.correlation_id,
                found=header.correlation_id,
            )
        return view[at:]

    def learn(self, body: memoryview, version: int) -> int | None:
        """Take what a broker says of its versions; return the one to ask again in, if it cannot.

        A broker that does not know the version asked in answers in version 0, and names its own.
        """
        is_refused = int.from_bytes(body[:2], signed=True) == UnsupportedVersionError.code
        answer = decode(ApiVersionsResponse, body, 0 if is_refused else version)
        ranges = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        if is_refused and version > 0:
            return min(version - 1, ranges.get(API_VERSIONS.key, (0, 0))[1])
        if answer.error_code:
            raise error_from_code(answer.error_code, "the broker does not say what it speaks")
        self.versions = ranges
        return None


def api_of_kind(kind: type[Request]) -> Api:
    """Return the API that a class of requests belongs to."""
    key = kind.__schema__.api_key
    assert key is not None, "a request has an API"
    return api_of(key)
