"""One connection: frames in, one request after the other, answers out in the same order.

Reading is the event loop's (`BufferedProtocol`), answering is one task's (`run`). Small frames are
received into a buffer that all connections share, which is safe since the loop fills and empties it
in one go; the rest of a large frame is received where it will stay. While a whole frame waits
behind the request at work, or a frame waits for memory, nothing is read.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeAlias, cast

from cordwood.broker.limits import ServerSettings
from cordwood.broker.memory import SMALL_FRAME_BYTES, MemoryBudget
from cordwood.broker.request import ConnectionInfo, RequestContext
from cordwood.broker.writer import SocketWriter, TransportWriter, Writer, wake
from cordwood.core.errors import BytesError
from cordwood.core.ports import Clock
from cordwood.observability.logs import FieldValue
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import size_of
from cordwood.protocol.framing import FrameReader, framed
from cordwood.protocol.header import (
    ResponseHeader,
    append_response_header,
    read_request_header,
)
from cordwood.protocol.primitives import Chunk

Handle: TypeAlias = Callable[[RequestContext, memoryview], Awaitable[list[Chunk] | None]]
"""Answers a request, of which it gets the body; None where no answer is sent. An error of it ends
the connection. The body is the request's only while it runs."""


_TLS_HANDSHAKE_SECONDS: Final = 10
_TLS_SHUTDOWN_SECONDS: Final = 2


class Shared(NamedTuple):
    """What the connections of a server have in common; `received` has SMALL_FRAME_BYTES."""

    handle: Handle
    settings: Callable[[], ServerSettings]
    budget: MemoryBudget
    clock: Clock
    metrics: Metrics
    received: memoryview


class Connection(asyncio.BufferedProtocol):
    """A connection from the moment it is accepted. One task does `open`, `run` and `close`."""

    def __init__(self, info: ConnectionInfo, shared: Shared) -> None:
        self.info = info
        self.request: RequestContext | None = None
        self._shared = shared
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._writer: Writer | None = None
        self._reader = FrameReader(self._frame_limit, admit=self._admit)
        self._is_held = False
        self._is_received_in_place = False
        self._is_reading = True
        self._has_ended = False
        self._refusal: BytesError | None = None
        self._arrival: asyncio.Future[None] | None = None
        self._is_open = False
        self._gone = self._loop.create_future()
        self._bytes_in = shared.metrics.counter("cordwood_received_bytes_total", info.listener)
        self._bytes_out = shared.metrics.counter("cordwood_sent_bytes_total", info.listener)
        self._is_handling = False
        self._is_at_work = False
        self._active_ms = shared.clock.monotonic_ms()
        self._frame_began_ms = self._active_ms

    def facts(self) -> dict[str, FieldValue]:
        """Return who asks, and what is or was asked for, as logs have it."""
        facts: dict[str, FieldValue] = {"peer": self.info.peer, "listener": self.info.listener}
        if self.request is not None:
            facts["api_key"] = self.request.api_key
            facts["version"] = self.request.api_version
            facts["client_id"] = self.request.client_id
        return facts

    async def open(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Take the socket over, and agree on how to encrypt; OSError if that cannot be done."""
        # The loops do so too, but not on sockets that do not say by themselves that they are TCP's.
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        settings = self._shared.settings()
        if settings.send_buffer_bytes >= 0:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.send_buffer_bytes)
        if settings.receive_buffer_bytes >= 0:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
        if tls is None:
            self._writer = SocketWriter(accepted.dup(), self._loop)
        await self._loop.connect_accepted_socket(
            lambda: self,
            accepted,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else _TLS_HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=None if tls is None else _TLS_SHUTDOWN_SECONDS,
        )
        self._is_open = True

    async def run(self) -> None:
        """Answer requests until no more come.

        Raises BytesError for a frame or header that is none, OSError when the peer has gone before
        its answer, and what the handler raises.
        """
        assert self._writer is not None, "it has been made"
        while await self._has_next():
            answer = await self._answer_to(self._reader.frames.popleft())
            if answer is not None:
                self._bytes_out.add(size_of(answer))
                await self._writer.send(answer)
            self._active_ms = self._shared.clock.monotonic_ms()
            self._is_at_work = False
        if self._refusal is not None:
            raise self._refusal

    def is_idle(self, allowed_ms: float) -> bool:
        """Whether for so long no request became whole, no answer left, and none is being made.

        So a frame that never becomes whole is idle, and a peer that does not read its answer.
        """
        since_ms = self._shared.clock.monotonic_ms() - self._active_ms
        return not self._is_handling and since_ms > allowed_ms

    def is_keeping_memory(self, allowed_ms: float) -> bool:
        """Whether a frame that memory was taken for has been under way for so long."""
        since_ms = self._shared.clock.monotonic_ms() - self._frame_began_ms
        return self._reader.allocated > SMALL_FRAME_BYTES and since_ms > allowed_ms

    def finish(self) -> bool:
        """End after the request at work; say whether there is one."""
        self._end()
        self._drop_frames()
        return self._is_at_work

    async def close(self, *, is_orderly: bool) -> None:
        """Close the socket; what was encrypted and has not left is sent first if `is_orderly`."""
        self._end()
        if self._writer is not None:
            self._writer.close()
        if self._transport is None:
            return
        if is_orderly and self.info.is_secure:
            self._transport.close()
        else:
            self._transport.abort()
        if not self._is_open:  # uvloop never tells of the end of what it was still opening
            return
        try:
            await self._gone
        finally:
            self._transport.abort()

    def abandon(self) -> None:
        """Give back the memory that was taken, once, after the task has ended or never begun."""
        self._end()
        self._shared.budget.forget(self._go_on)
        self._shared.budget.give_back(self._reader.allocated)
        self._drop_frames()
        self._reader.drop()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._writer is None:
            self._writer = TransportWriter(self._transport, self._loop)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the loop passes it
        self._is_received_in_place = self._reader.missing >= SMALL_FRAME_BYTES
        return self._reader.room() if self._is_received_in_place else self._shared.received

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_received_in_place:
            self._reader.fill(nbytes)
            self._arrange()
        else:
            self._take(self._reader.feed, self._shared.received[:nbytes])

    def eof_received(self) -> bool:
        """What came is worked off; a request that waits has nobody to wait for."""
        self._end()
        return not self.info.is_secure  # a transport that encrypts cannot stay open one way

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as above
        self._end()
        if self._writer is not None:
            self._writer.close()
        if not self._gone.done():
            self._gone.set_result(None)

    def pause_writing(self) -> None:
        if isinstance(self._writer, TransportWriter):
            self._writer.pause()

    def resume_writing(self) -> None:
        if isinstance(self._writer, TransportWriter):
            self._writer.resume()

    # Frames on their way in.

    def _frame_limit(self) -> int:
        return self._shared.settings().request_max_bytes

    def _admit(self, size: int) -> bool:
        self._frame_began_ms = self._shared.clock.monotonic_ms()
        self._is_held = not self._shared.budget.take(size, self._go_on)
        return not self._is_held

    def _go_on(self) -> None:
        self._is_held = False
        self._frame_began_ms = self._shared.clock.monotonic_ms()
        self._take(self._reader.go_on)

    def _take(self, step: Callable[..., None], *received: memoryview) -> None:
        try:
            step(*received)
        except BytesError as error:
            self._refusal = error
            self._has_ended = True
        self._arrange()

    def _end(self) -> None:
        """Let no more come; what waits on behalf of the peer need not wait any longer."""
        self._has_ended = True
        self.info.stopping.begin()
        self._arrange()

    def _drop_frames(self) -> None:
        while self._reader.frames:
            self._shared.budget.give_back(len(self._reader.frames.popleft()))

    def _arrange(self) -> None:
        """Wake the task if there is something for it, and read only while there is room."""
        if self._reader.frames or self._has_ended:
            wake(self._arrival)
        allowed = 0 if self._is_at_work else 1
        is_reading_wanted = not (
            self._is_held or self._has_ended or len(self._reader.frames) > allowed
        )
        if self._transport is None or is_reading_wanted == self._is_reading:
            return
        if not self._transport.is_closing():
            self._is_reading = is_reading_wanted
            if is_reading_wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    # Requests on their way through.

    async def _has_next(self) -> bool:
        """Wait for a request; False when none will come."""
        if not self._reader.frames and not self._has_ended:
            self._arrival = self._loop.create_future()
            await self._arrival
        return bool(self._reader.frames)

    async def _answer_to(self, frame: bytearray) -> list[Chunk] | None:
        """Return the frame of the answer; the request's is let go when this returns."""
        self.request = None
        self._is_at_work = self._is_handling = True
        self._active_ms = self._shared.clock.monotonic_ms()
        self._bytes_in.add(len(frame))
        self._arrange()
        try:
            header, body_at = read_request_header(memoryview(frame))
            self.request = request = RequestContext(
                header.request_api_key,
                header.request_api_version,
                header.correlation_id,
                header.client_id,
                self.info,
            )
            chunks = await self._shared.handle(request, memoryview(frame)[body_at:])
            return None if chunks is None else framed(_header_of_answer(request), chunks)
        finally:
            self._is_handling = False
            self._shared.budget.give_back(len(frame))


def _header_of_answer(request: RequestContext) -> bytearray:
    header = bytearray()
    append_response_header(
        header,
        ResponseHeader(correlation_id=request.correlation_id),
        api=api_of(request.api_key),
        version=request.api_version,
    )
    return header
