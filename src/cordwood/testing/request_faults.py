"""Faults of one request: a delay, an error response, or no response.

    delayed   handled after a pause of real time
    refused   answered with an error code in every place that has one; not handled
    dropped   never answered, like a lost packet: later requests of the connection wait too
    closed    the connection is closed instead of a response

With `handled`, the last two handle the request first: only the response is lost.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.network.connection import Handle
from cordwood.broker.network.pending_response import chunks_of
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.network.response_writer import release
from cordwood.core.errors import FetchSessionIdNotFoundError, KafkaError
from cordwood.core.ports import Clock, Scheduler
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.fetch import FetchRequest, FetchResponse
from cordwood.protocol.messages.metadata import MetadataRequest
from cordwood.protocol.messages.produce import ProduceRequest
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Request
from cordwood.testing.error_responses import error_response, set_errors

ResponseChunks: TypeAlias = list[Chunk] | None


class PendingRequest(NamedTuple):
    """A request on its way to the broker, and the broker's handler."""

    context: RequestContext
    body: memoryview
    handle: Handle

    async def respond(self) -> ResponseChunks:
        """Let the broker handle the request, and return its response."""
        return await chunks_of(await self.handle(self.context, self.body))

    async def handle_without_response(self) -> None:
        """Let the broker handle the request, and drop its response."""
        release(await self.respond() or ())

    def read(self) -> Request:
        """Decode the request; BytesError if it is invalid."""
        return decode(api_of(self.context.api_key).request(), self.body, self.context.api_version)


FaultAction: TypeAlias = Callable[[PendingRequest], Coroutine[object, object, ResponseChunks]]
"""Replacement for the handling of a request."""

_NO_ACKS: Final = 0


def delayed(ms: float, *, clock: Clock, scheduler: Scheduler) -> FaultAction:
    """Handle a request after a pause, or at once if the connection is closed meanwhile."""

    async def act(pending: PendingRequest) -> ResponseChunks:
        late = asyncio.Event()
        timer = scheduler.call_at(clock.monotonic_ms() + ms, late.set)
        await _until(late, pending.context)
        timer.cancel()
        return await pending.respond()

    return act


def refused(error: KafkaError) -> FaultAction:
    """Respond with the error.

    Metadata responses still list the brokers, or no client would retry.
    """

    async def act(pending: PendingRequest) -> ResponseChunks:
        request, version = pending.read(), pending.context.api_version
        if isinstance(request, ProduceRequest) and request.acks == _NO_ACKS:
            raise ConnectionResetError(str(error))  # Kafka's only error signal for acks=0
        if not isinstance(request, MetadataRequest):
            return encode(error_response(request, error), version)
        chunks = memoryview(joined(await pending.respond() or ()))
        response = decode(api_of(pending.context.api_key).response(), chunks, version)
        set_errors(response, error)
        return encode(response, version)

    return act


def dropped(*, handled: bool) -> FaultAction:
    """Send no response until the client closes the connection."""

    async def act(pending: PendingRequest) -> ResponseChunks:
        if handled:
            await pending.handle_without_response()
        await _until(asyncio.Event(), pending.context)
        return None

    return act


def closed(*, handled: bool) -> FaultAction:
    """Close the connection."""

    async def act(pending: PendingRequest) -> ResponseChunks:
        if handled:
            await pending.handle_without_response()
        raise ConnectionResetError("closed by a planned fault")

    return act


async def forget_session(pending: PendingRequest) -> ResponseChunks:
    """Respond that the fetch session is unknown, so that the client requests all partitions."""
    response = FetchResponse(error_code=FetchSessionIdNotFoundError.code, responses=[])
    return encode(response, pending.context.api_version)


def is_incremental(request: Request) -> bool:
    """Return whether a fetch relies on its session, and lists only changed partitions."""
    return isinstance(request, FetchRequest) and request.session_epoch > 0


async def _until(event: asyncio.Event, context: RequestContext) -> None:
    """Wait for an event, at most until the connection is closed."""
    stopping = context.connection.stopping
    stopping.watch(event.set)
    try:
        await event.wait()
    finally:
        stopping.unwatch(event.set)
