"""What may go wrong with one request: it is late, refused, or ends without an answer.

    delayed   handled after a while of real time
    refused   answered with an error's code, wherever the answer has one; nothing is done
    dropped   never answered, as when the network loses it: what the peer sends behind it waits too
    closed    the connection ends instead of an answer

The last two may come after the request has been handled: then only the answer is lost.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.connection import Handle
from cordwood.broker.network import Network
from cordwood.broker.request import RequestContext
from cordwood.broker.writer import release
from cordwood.core.errors import FetchSessionIdNotFoundError, KafkaError
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.fetch import FetchRequest, FetchResponse
from cordwood.protocol.messages.metadata import MetadataRequest
from cordwood.protocol.messages.produce import ProduceRequest
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Request
from cordwood.testing.refusal import refusal, refuse_all

Answer: TypeAlias = list[Chunk] | None


class Asked(NamedTuple):
    """A request on its way to the broker, and what would answer it there."""

    context: RequestContext
    body: memoryview
    handle: Handle

    async def answer(self) -> Answer:
        """Let the broker answer."""
        return await self.handle(self.context, self.body)

    async def do_unanswered(self) -> None:
        """Let the broker answer, and nobody get it."""
        release(await self.answer() or ())

    def read(self) -> Request:
        """Return what is asked; BytesError where that is nothing."""
        return decode(api_of(self.context.api_key).request(), self.body, self.context.api_version)


Act: TypeAlias = Callable[[Asked], Coroutine[object, object, Answer]]
"""What becomes of a request, instead of its answer alone."""

_NO_ACKS: Final = 0


def delayed(ms: float, network: Network) -> Act:
    """Handle a request so much later, or at once if the connection ends meanwhile."""

    async def act(asked: Asked) -> Answer:
        late = asyncio.Event()
        timer = network.scheduler.call_at(network.clock.monotonic_ms() + ms, late.set)
        await _until(late, asked.context)
        timer.cancel()
        return await asked.answer()

    return act


def refused(error: KafkaError) -> Act:
    """Answer with the error. Metadata still tell of the brokers, or no client would ask again."""

    async def act(asked: Asked) -> Answer:
        request, version = asked.read(), asked.context.api_version
        if isinstance(request, ProduceRequest) and request.acks == _NO_ACKS:
            raise ConnectionResetError(str(error))  # as Kafka tells those who want no answer
        if not isinstance(request, MetadataRequest):
            return encode(refusal(request, error), version)
        answer = memoryview(joined(await asked.answer() or ()))
        told = decode(api_of(asked.context.api_key).response(), answer, version)
        refuse_all(told, error)
        return encode(told, version)

    return act


def dropped(*, handled: bool) -> Act:
    """Answer nothing until the peer has enough of it."""

    async def act(asked: Asked) -> Answer:
        if handled:
            await asked.do_unanswered()
        await _until(asyncio.Event(), asked.context)
        return None

    return act


def closed(*, handled: bool) -> Act:
    """End the connection."""

    async def act(asked: Asked) -> Answer:
        if handled:
            await asked.do_unanswered()
        raise ConnectionResetError("closed by a planned fault")

    return act


async def forget_session(asked: Asked) -> Answer:
    """Say that the session of a fetch is not known, so that the reader asks for everything anew."""
    answer = FetchResponse(error_code=FetchSessionIdNotFoundError.code, responses=[])
    return encode(answer, asked.context.api_version)


def is_incremental(request: Request) -> bool:
    """Whether a fetch goes by what its session knows, and names only what has changed."""
    return isinstance(request, FetchRequest) and request.session_epoch > 0


async def _until(event: asyncio.Event, context: RequestContext) -> None:
    """Wait for an event, and no longer than for the end of the connection."""
    stopping = context.connection.stopping
    stopping.watch(event.set)
    try:
        await event.wait()
    finally:
        stopping.unwatch(event.set)
