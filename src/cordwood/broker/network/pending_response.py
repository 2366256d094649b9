"""Response of a request that is done but for an append, which the next requests may share.

Kafka handles one request of a connection at a time, and gathers the appends of several connections
(`group.coordinator.append.linger.ms`). Here a client that has sent several commits before the first
response gets one append for them. A producer that has sent several batches gets them replicated by
one fetch of each follower. The requests are handled, and answered, in their order.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from cordwood.core.errors import KafkaError
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Response


class PendingChunks(Protocol):
    """A response that is encoded when it is known."""

    def done(self) -> bool:
        """Return whether the response is known."""

    def add_done_callback(self, call: Callable[[], object]) -> None:
        """Make a call, in a later turn of the loop, when the response is known."""

    def known(self) -> list[Chunk] | None:
        """Return the response if it is known and small; otherwise wait for `chunks`."""

    def chunks(self) -> Awaitable[list[Chunk] | None]:
        """Wait for the response, and return it."""

    def abandon(self) -> None:
        """End the wait: the client has gone."""


Handled: TypeAlias = list[Chunk] | PendingChunks | None
"""The response of a request, None if it has none."""


async def chunks_of(handled: Handled) -> list[Chunk] | None:
    """Return a response, once it is known."""
    if handled is None or isinstance(handled, list):
        return handled
    return await handled.chunks()


class PendingResponse:
    """The response of a handler; `on_error` makes one of the error that comes instead."""

    __slots__ = ("_future", "_on_error")

    def __init__(
        self, future: asyncio.Future[Response], on_error: Callable[[KafkaError], Response]
    ) -> None:
        self._future = future
        self._on_error = on_error

    def done(self) -> bool:
        """Return whether `result` has the response."""
        return self._future.done()

    def add_done_callback(self, call: Callable[[], object]) -> None:
        """Make a call, in a later turn of the loop, when the response is known."""
        self._future.add_done_callback(lambda _: call())

    def result(self) -> Response:
        """Return the response, which is known."""
        try:
            return self._future.result()
        except KafkaError as error:
            return self._on_error(error.with_traceback(None))  # its frame refers to the future

    async def response(self) -> Response:
        """Wait for the response, and return it."""
        try:
            return await self._future
        except KafkaError as error:
            return self._on_error(error.with_traceback(None))  # as above

    def abandon(self) -> None:
        """End the wait: the client has gone."""
        if not self._future.cancelled() and not self._future.cancel():
            self._future.exception()  # or asyncio would log that it was never retrieved
