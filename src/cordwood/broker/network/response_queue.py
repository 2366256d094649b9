"""Responses of one connection that wait for appends, in the order of their requests.

Only requests of one API wait together, so that no request sees the effect of a later one.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.network.pending_response import PendingChunks
from cordwood.protocol.framing import framed
from cordwood.protocol.primitives import Chunk

#: The most responses that wait, more than Kafka's clients have requests in flight.
MOST_WAITING: Final = 32
_API_KEY_BYTES: Final = 2


class WaitingResponse(NamedTuple):
    """A response that waits for an append, and its header."""

    api_key: int
    header: bytes
    response: PendingChunks

    async def frame(self) -> list[Chunk] | None:
        """Wait for the response, and return its frame."""
        chunks = self.response.known() or await self.response.chunks()
        return None if chunks is None else framed(self.header, chunks)


QueuedResponse: TypeAlias = WaitingResponse | list[Chunk] | None


class ResponseQueue:
    """The responses; the first one added waits."""

    __slots__ = ("_api_key", "_responses")

    def __init__(self, first: WaitingResponse) -> None:
        self._api_key = first.api_key.to_bytes(_API_KEY_BYTES)
        self._responses = deque[QueuedResponse]([first])

    def __len__(self) -> int:
        return len(self._responses)

    def accepts(self, frames: Sequence[bytearray]) -> bool:
        """Return whether the request of the first frame may be handled before the responses."""
        return (
            bool(frames)
            and len(self._responses) < MOST_WAITING
            and frames[0][:_API_KEY_BYTES] == self._api_key
        )

    def add(self, response: QueuedResponse) -> None:
        """Add the response of the next request."""
        self._responses.append(response)

    @property
    def awaited(self) -> PendingChunks | None:
        """The first response, if it is not known yet."""
        first = self._responses[0] if self._responses else None
        if not isinstance(first, WaitingResponse) or first.response.done():
            return None
        return first.response

    async def next(self) -> list[Chunk] | None:
        """Wait for the first response, and remove it."""
        first = self._responses[0]
        frame = await first.frame() if isinstance(first, WaitingResponse) else first
        self._responses.popleft()
        return frame

    def abandon(self) -> None:
        """End all waits: the client has gone."""
        for each in self._responses:
            if isinstance(each, WaitingResponse):
                each.response.abandon()
