"""One connection to one broker: requests out at once, in the order of the calls; answers by order.

A request whose answer is late ends the connection, since what comes behind it is late as well. So
does a frame that is none. Everybody who waits is told why, by a NetworkError or a timeout, and may
ask again on a new connection.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Coroutine
from typing import Final, NamedTuple, TypeVar, cast

from cordwood.client.exchange import Asked, Exchange
from cordwood.client.settings import ClientSettings
from cordwood.client.surroundings import Surroundings
from cordwood.core.address import Address
from cordwood.core.errors import (
    BytesError,
    KafkaError,
    NetworkError,
    RequestTimedOutError,
)
from cordwood.core.ports import Timer
from cordwood.core.version import __version__
from cordwood.protocol.codec import decode
from cordwood.protocol.framing import FrameReader
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)

RECEIVED_BYTES: Final = 64 * 1024
_SOFTWARE: Final = "cordwood"


class _Waiting(NamedTuple):
    """Somebody who waits for an answer, until a timer says that it is late."""

    answer: asyncio.Future[memoryview]
    timer: Timer


class Connection(asyncio.BufferedProtocol):
    """A connection; `open` comes first."""

    def __init__(
        self, address: Address, settings: ClientSettings, surroundings: Surroundings
    ) -> None:
        self.address = address
        self.throttled_until_ms = 0.0
        self._settings = settings
        self._surroundings = surroundings
        self._exchange = Exchange(settings.client_id)
        self._reader = FrameReader(lambda: settings.receive_message_max_bytes)
        self._received = memoryview(bytearray(RECEIVED_BYTES))
        self._is_received_in_place = False
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[_Waiting] = deque()
        self._failure: KafkaError | None = None
        self._room: asyncio.Future[None] | None = None

    @property
    def is_usable(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and self._failure is None

    async def open(self, tls: ssl.SSLContext | None) -> None:
        """Connect, and learn what the broker speaks; NetworkError where that fails."""
        loop = asyncio.get_running_loop()
        host, port = self.address
        connecting = loop.create_connection(lambda: self, host, port, ssl=tls)
        timeout_ms = self._settings.socket_connection_setup_timeout_ms
        try:
            await self._surroundings.within(
                timeout_ms,
                connecting,
                late=lambda: TimeoutError(f"no connection after {timeout_ms} ms"),
            )
        except OSError as error:
            raise NetworkError(f"broker {self.address} cannot be reached: {error}") from error
        version: int | None = ApiVersionsRequest.__schema__.versions[1]
        request = ApiVersionsRequest(
            client_software_name=_SOFTWARE, client_software_version=__version__
        )
        while version is not None:
            _, answer = self._send(request, version)
            version = self._exchange.learn(await answer, version)

    def version_of(self, kind: type[Request]) -> int:
        """Return the version in which `kind` is sent; UnsupportedVersionError where none is."""
        return self._exchange.version_of(kind)

    def ask(self, request: Request, kind: type[R]) -> Coroutine[object, object, R]:
        """Send now; awaited, return the answer."""
        asked, answer = self._send(request, self.version_of(type(request)))
        return self._answer(asked, answer, kind)

    async def tell(self, request: Request) -> None:
        """Send what wants no answer, once there is room for it."""
        while self._room is not None:
            await asyncio.shield(self._room)
        version = self.version_of(type(request))
        self._write(self._exchange.ask(request, version, is_answered=False)[1])

    def close(self, reason: KafkaError | None = None) -> None:
        """End it; who waits is told the reason."""
        if self._transport is not None:
            self._transport.abort()
        self._end(reason or NetworkError(f"the connection to {self.address} was closed"))

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the loop passes it
        self._is_received_in_place = self._reader.missing >= RECEIVED_BYTES
        return self._reader.room() if self._is_received_in_place else self._received

    def buffer_updated(self, nbytes: int) -> None:
        try:
            if self._is_received_in_place:
                self._reader.fill(nbytes)
            else:
                self._reader.feed(self._received[:nbytes])
            while self._reader.frames:
                self._hand_out(self._reader.frames.popleft())
        except BytesError as error:
            text = f"broker {self.address} sent what is no answer: {error}"
            self.close(NetworkError(text))

    def connection_lost(self, exc: Exception | None) -> None:
        why = f": {exc}" if exc else ""
        self._end(NetworkError(f"broker {self.address} closed the connection{why}"))

    def pause_writing(self) -> None:
        self._room = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    # Requests out, answers in.

    def _send(self, request: Request, version: int) -> tuple[Asked, asyncio.Future[memoryview]]:
        asked, chunks = self._exchange.ask(request, version)
        answer: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        deadline_ms = self._surroundings.now_ms() + self._settings.request_timeout_ms
        late = self._surroundings.scheduler.call_at(deadline_ms, lambda: self._give_up(asked))
        self._waiting.append(_Waiting(answer, late))
        if self._failure is None:
            self._write(chunks)
        else:
            self._end(self._failure)
        return asked, answer

    def _write(self, chunks: list[Chunk]) -> None:
        if self._failure is not None:
            raise self._failure
        assert self._transport is not None, "it is open"
        self._transport.writelines(cast("list[bytes]", chunks))

    async def _answer(self, asked: Asked, answer: asyncio.Future[memoryview], kind: type[R]) -> R:
        body = await answer
        try:
            message = decode(kind, body, asked.version)
        except BytesError as error:
            raise NetworkError(
                f"broker {self.address} sent an unreadable answer to {asked.api.name}: {error}"
            ) from error
        throttled_ms: int = getattr(message, "throttle_time_ms", 0)
        if throttled_ms > 0:
            self.throttled_until_ms = self._surroundings.now_ms() + throttled_ms
        return message

    def _hand_out(self, frame: bytearray) -> None:
        body = self._exchange.answered(frame)
        waiting = self._waiting.popleft()
        waiting.timer.cancel()
        if not waiting.answer.done():
            waiting.answer.set_result(body)

    def _give_up(self, asked: Asked) -> None:
        ms = self._settings.request_timeout_ms
        self.close(
            RequestTimedOutError(
                f"broker {self.address} did not answer {asked.api.name} within {ms} ms"
                " (request_timeout_ms)"
            )
        )

    def _end(self, reason: KafkaError) -> None:
        self._failure = self._failure or reason
        self.resume_writing()
        while self._waiting:
            waiting = self._waiting.popleft()
            waiting.timer.cancel()
            if not waiting.answer.done():
                waiting.answer.set_exception(self._failure)
                waiting.answer.exception()  # whoever asked may have gone by now
