"""Responses of one connection, in order; small ones of pipelined requests are sent together.

A client that has several requests in flight needs no response before the next request is handled:
one system call for both costs the loop half, and wakes the client once. If the handler of the next
request waits, the held responses are sent in the loop's next turn.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from cordwood.broker.network.response_writer import ResponseWriter
from cordwood.core.binary import Buffer
from cordwood.protocol.codec import size_of
from cordwood.protocol.primitives import Chunk

#: The most bytes of held responses.
HELD_BYTES: Final = 16 * 1024


class PipelinedResponses:
    """Sends over a writer; one task calls `send` and `flush`."""

    __slots__ = ("_held", "_held_bytes", "_loop", "_sending", "_turn", "_writer")

    def __init__(self, writer: ResponseWriter, loop: asyncio.AbstractEventLoop) -> None:
        self._writer = writer
        self._loop = loop
        self._held: list[Chunk] = []
        self._held_bytes = 0
        self._turn: asyncio.Handle | None = None
        self._sending: asyncio.Task[None] | None = None

    async def send(self, response: Sequence[Chunk], *, has_next: bool) -> None:
        """Send a response, or hold it if `has_next`: the next request has arrived.

        Raises what `ResponseWriter.send` raises, for held responses too.
        """
        if not has_next and not self._held and self._sending is None:
            await self._writer.send(response)
            return
        self._held += response
        self._held_bytes += size_of(response)
        if has_next and self._held_bytes <= HELD_BYTES and _is_in_memory(response):
            if self._turn is None:
                self._turn = self._loop.call_soon(self._begin)
            return
        await self.flush()

    async def flush(self) -> None:
        """Send the held responses."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        if self._sending is not None:
            await self._sending
        await self._send_held()

    def close(self) -> None:
        """Discard the held responses; the stream is not used again."""
        if self._turn is not None:
            self._turn.cancel()
        sending, self._sending = self._sending, None  # the frames of its error refer to this object
        if sending is not None and not sending.cancel():
            sending.exception()  # it has failed as the connection has

    def _begin(self) -> None:
        """Send the held responses, while the handler of the next request waits."""
        self._turn = None
        if self._sending is None:
            self._sending = self._loop.create_task(self._send_all())

    async def _send_all(self) -> None:
        """Send what is held; after an error the task stays, for `flush` to raise it."""
        await self._send_held()
        self._sending = None

    async def _send_held(self) -> None:
        while self._held:
            held, self._held, self._held_bytes = self._held, [], 0
            await self._writer.send(held)


def _is_in_memory(response: Sequence[Chunk]) -> bool:
    return all(isinstance(chunk, Buffer) for chunk in response)
