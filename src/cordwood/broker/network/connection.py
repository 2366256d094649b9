"""One client connection: request frames in, responses out in request order (Kafka: `KafkaChannel`).

The event loop reads (`BufferedProtocol`), and one task handles requests one at a time (`run`). A
response to a produce request or to a commit of offsets can wait for an append. Meanwhile the next
requests of this API are handled as they arrive, and share the wait. Kafka reads the next request
after the response.

Reading pauses while whole frames wait behind the request in progress, a few small ones or a large
one, or while a frame waits for memory.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Final, NamedTuple, TypeAlias, cast

from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.memory_pool import MemoryPool
from cordwood.broker.network.network_receive import NetworkReceive, ReceivedFrame
from cordwood.broker.network.pending_response import Handled
from cordwood.broker.network.pipelined_responses import PipelinedResponses
from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.broker.network.response_queue import (
    QueuedResponse,
    ResponseQueue,
    WaitingResponse,
)
from cordwood.broker.network.response_writer import (
    ResponseWriter,
    SocketWriter,
    TransportWriter,
    wake,
)
from cordwood.broker.network.slice_reader import SliceReader
from cordwood.broker.pending_results import next_turn
from cordwood.core.binary import Buffer
from cordwood.core.errors import BytesError
from cordwood.core.ports import Clock
from cordwood.observability.log_lines import FieldValue
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import size_of
from cordwood.protocol.framing import framed
from cordwood.protocol.header import read_request_header, response_header
from cordwood.protocol.primitives import Chunk

Handle: TypeAlias = Callable[[RequestContext, memoryview], Awaitable[Handled]]
"""Handles a request given its body; returns the response, or None if there is none. An error closes
the connection. The body is valid only until the handler returns."""


#: The shown part of a client id, which a client chooses.
_CLIENT_ID_SHOWN: Final = 64
_TLS_HANDSHAKE_SECONDS: Final = 10
_TLS_SHUTDOWN_SECONDS: Final = 2
#: The time of pipelined requests of one connection in one turn of the loop.
_TURN_MS: Final = 2


#: Whole frames that wait behind the request in progress: batches of a producer that are appended in
#: one turn are replicated by one fetch.
READ_AHEAD_FRAMES: Final = 4
READ_AHEAD_BYTES: Final = 1 << 20


class ServerResources(NamedTuple):
    """Resources that the connections of a server share; `received` has SMALL_FRAME_BYTES."""

    handle: Handle
    settings: Callable[[], SocketServerSettings]
    memory: MemoryPool
    clock: Clock
    metrics: Metrics
    received: memoryview
    slices: SliceReader


class Connection(asyncio.BufferedProtocol):  # tidy: allow[class-lines] its frames are elsewhere
    """A connection from its acceptance on. One task calls `open`, `run` and `close`."""

    def __init__(self, info: ConnectionInfo, shared: ServerResources) -> None:
        self.info = info
        self.request: RequestContext | None = None
        self._shared = shared
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._writer: ResponseWriter | None = None
        self._responses: PipelinedResponses | None = None
        self._receive = self._new_receive()
        self._is_reading = True
        self._has_ended = False
        self._error: Exception | None = None
        self._arrival: asyncio.Future[None] | None = None
        self._is_open = False
        self._closed = self._loop.create_future()
        self._bytes_in = shared.metrics.counter("cordwood_received_bytes_total", info.listener)
        self._bytes_out = shared.metrics.counter("cordwood_sent_bytes_total", info.listener)
        # `_is_handling` ends with the handler, `_is_at_work` with the sent response.
        self._is_handling = self._is_at_work = False
        #: The bytes in memory of the response that is being sent, and those sent at the last look.
        self.unread_bytes = 0
        self._sent_before = 0
        self._active_ms = shared.clock.monotonic_ms()

    def log_fields(self) -> dict[str, FieldValue]:
        """Return the peer and its current or last request, as fields of log events."""
        result: dict[str, FieldValue] = {"peer": self.info.peer, "listener": self.info.listener}
        if self.request is not None:
            result["api_key"] = self.request.api_key
            result["version"] = self.request.api_version
            client_id = self.request.client_id
            result["client_id"] = client_id and client_id[:_CLIENT_ID_SHOWN]
        return result

    async def open(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Take over the socket and do the TLS handshake; raise OSError if that fails."""
        # The loops set these too, but only on sockets with an explicit protocol number of TCP.
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        settings = self._shared.settings()
        if settings.send_buffer_bytes >= 0:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.send_buffer_bytes)
        if settings.receive_buffer_bytes >= 0:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
        if tls is None:
            self._writer = SocketWriter(accepted.dup(), self._loop, self._shared.slices)
        await self._loop.connect_accepted_socket(
            lambda: self,
            accepted,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else _TLS_HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=None if tls is None else _TLS_SHUTDOWN_SECONDS,
        )
        self._is_open = True

    async def run(self) -> None:
        """Handle requests until the client or the server ends the connection.

        Raises BytesError for an invalid frame or header, OSError if the client disconnects before
        its response, and the errors of the handler and of the files that are sent.
        """
        assert self._writer is not None, "`open` has made it"
        self._responses = responses = PipelinedResponses(self._writer, self._loop)
        try:
            await self._answer_all(responses)
        except Exception:
            await responses.flush()
            raise

    def is_idle(self, allowed_ms: float) -> bool:
        """Whether no request has been completed, handled or answered for `allowed_ms`.

        A client that never completes a frame is idle, and a client that does not read its response.
        """
        since_ms = self._shared.clock.monotonic_ms() - self._active_ms
        return not self._is_handling and since_ms > allowed_ms

    def is_keeping_memory(self) -> bool:
        """Whether other frames wait for memory that a slow frame of this connection holds."""
        return self._receive.is_keeping_memory(is_reading=self._is_reading)

    def is_unread(self) -> bool:
        """Whether the client has read nothing of a response since the last call."""
        sent, before = self._writer.sent_bytes if self._writer else 0, self._sent_before
        self._sent_before = sent
        return self.unread_bytes > 0 and sent == before

    def finish(self) -> bool:
        """Close after the request in progress; return whether there is one."""
        self._stop_reading()
        self._receive.drop_frames()
        return self._is_at_work

    async def close(self, *, is_orderly: bool) -> None:
        """Close the socket; if `is_orderly`, pending TLS data are sent first."""
        self._stop_reading()
        if self._writer is not None:
            self._writer.close()
        if self._responses is not None:
            self._responses.close()
        if self._transport is None:
            return
        if is_orderly and self.info.is_secure:
            self._transport.close()
        else:
            self._transport.abort()
        if not self._is_open:  # uvloop never calls `connection_lost` before the handshake is done
            return
        try:
            await self._closed
        finally:
            self._transport.abort()

    def abandon(self) -> None:
        """Release the memory of all frames, once, when the task has ended or will never begin."""
        self._stop_reading()
        self._receive.drop()

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._writer is None:
            self._writer = TransportWriter(self._transport, self._loop, self._shared.slices)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the loop passes it
        return self._receive.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._receive.received(nbytes)
        except BytesError as error:
            self._error = error
            self._has_ended = True
        self._update_reading()

    def eof_received(self) -> bool:
        """Handle the received requests, but end their waits: the client has stopped sending."""
        self._stop_reading()
        return not self.info.is_secure  # a TLS transport cannot stay half open

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as above
        self._stop_reading()
        if self._writer is not None:
            self._writer.close()
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        if isinstance(self._writer, TransportWriter):
            self._writer.pause()

    def resume_writing(self) -> None:
        if isinstance(self._writer, TransportWriter):
            self._writer.resume()

    # Incoming frames.

    def _new_receive(self) -> NetworkReceive:
        shared = self._shared
        return NetworkReceive(
            lambda: shared.settings().request_max_bytes,
            memory=shared.memory,
            shared=shared.received,
            clock=shared.clock,
            resume=self._update_reading,
        )

    def _stop_reading(self) -> None:
        """Stop reading, and end the waits on behalf of this client."""
        self._has_ended = True
        self.info.stopping.fire()
        self._update_reading()

    def _update_reading(self) -> None:
        """Wake the task if there is something for it, and pause or resume reading."""
        frames = self._receive.frames
        if frames or self._has_ended:
            wake(self._arrival)
        allowed = 0 if self._is_at_work else 1
        is_ahead = len(frames) > allowed and not _may_read_ahead(frames)
        is_reading_wanted = not (is_ahead or self._has_ended or self._receive.is_waiting)
        if self._transport is None or is_reading_wanted == self._is_reading:
            return
        if not self._transport.is_closing():
            self._is_reading = is_reading_wanted
            if is_reading_wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    # Requests.

    async def _answer_all(self, responses: PipelinedResponses) -> None:
        turn_end_ms = 0.0
        while await self._wait_for_request():
            response = await self._handle_frame(self._receive.take())
            turn_end_ms = turn_end_ms or self._active_ms + _TURN_MS
            if isinstance(response, WaitingResponse):
                await self._answer_together(responses, response, turn_end_ms)
            elif response is not None:
                await self._send(responses, response, has_next=bool(self._receive.frames))
            self._active_ms = self._shared.clock.monotonic_ms()
            self._is_at_work = False
            if not self._receive.frames:
                turn_end_ms = 0.0  # another turn begins after the wait for the next request
            elif self._active_ms >= turn_end_ms:
                await next_turn()
                turn_end_ms = 0.0
        await responses.flush()
        if self._error is not None:
            try:
                raise self._error
            finally:  # its frames refer to this connection
                self._error = None

    async def _answer_together(
        self, responses: PipelinedResponses, first: WaitingResponse, turn_end_ms: float
    ) -> None:
        """Handle the requests that arrive and wait as the first one does; answer all."""
        queue = ResponseQueue(first)
        try:
            while queue:
                turn_end_ms = await self._handle_arrived(queue, turn_end_ms)
                response = await queue.next()
                if response is not None:
                    is_next_known = bool(queue) and queue.awaited is None
                    has_next = is_next_known or bool(self._receive.frames)
                    await self._send(responses, response, has_next=has_next)
        finally:
            queue.abandon()

    async def _handle_arrived(self, queue: ResponseQueue, turn_end_ms: float) -> float:
        """Handle requests until the first response is known; return the end of the turn."""
        clock, frames = self._shared.clock, self._receive.frames
        while True:
            while queue.accepts(frames) and clock.monotonic_ms() < turn_end_ms:
                queue.add(await self._handle_next())
            awaited = queue.awaited
            if awaited is None:
                return turn_end_ms
            if queue.accepts(frames):
                await next_turn()
            elif frames or self._has_ended:
                return turn_end_ms  # no other request can be handled before the response
            else:
                self._arrival = arrival = self._loop.create_future()
                awaited.add_done_callback(partial(wake, arrival))
                await arrival
            turn_end_ms = clock.monotonic_ms() + _TURN_MS

    async def _handle_next(self) -> QueuedResponse:
        """Handle the next frame; its error is kept until earlier requests are answered."""
        try:
            return await self._handle_frame(self._receive.take())
        except Exception as error:  # noqa: BLE001 - kept, and raised by `_answer_all`
            self._error = error
            self._stop_reading()
            self._receive.drop_frames()
            return None

    async def _send(
        self, out: PipelinedResponses, response: list[Chunk], *, has_next: bool
    ) -> None:
        """Send the frame of a response, or hold it if another one follows."""
        self._bytes_out.add(size_of(response))
        self.unread_bytes = _bytes_in_memory(response)
        await out.send(response, has_next=has_next)
        self.unread_bytes = 0

    async def _wait_for_request(self) -> bool:
        """Wait for a request; return False after the last one."""
        if not self._receive.frames and not self._has_ended:
            self._arrival = self._loop.create_future()
            await self._arrival
        return bool(self._receive.frames)

    async def _handle_frame(self, frame: ReceivedFrame) -> QueuedResponse:
        """Return the frame of the response; the memory of the request is released on return."""
        self.request = None
        self._is_at_work = self._is_handling = True
        self._active_ms = self._shared.clock.monotonic_ms()
        self._bytes_in.add(len(frame.data))
        self._update_reading()
        try:
            header, body_at = read_request_header(memoryview(frame.data))
            self.request = request = RequestContext(
                header.request_api_key,
                header.request_api_version,
                header.correlation_id,
                header.client_id,
                self.info,
            )
            chunks = await self._shared.handle(request, memoryview(frame.data)[body_at:])
            if chunks is None:
                return None
            start = _header_of(request)
            if isinstance(chunks, list):
                return framed(start, chunks)
            return WaitingResponse(request.api_key, start, chunks)
        finally:
            self._is_handling = False
            frame.release()


def _may_read_ahead(frames: Collection[bytearray]) -> bool:
    """Return whether more may be read behind whole frames that wait: all of them are small."""
    return len(frames) <= READ_AHEAD_FRAMES and sum(map(len, frames)) <= READ_AHEAD_BYTES


def _bytes_in_memory(response: list[Chunk]) -> int:
    return sum(len(chunk) for chunk in response if isinstance(chunk, Buffer))


def _header_of(request: RequestContext) -> bytes:
    return response_header(
        api_of(request.api_key), request.api_version, correlation_id=request.correlation_id
    )
