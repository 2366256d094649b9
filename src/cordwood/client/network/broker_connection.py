"""One connection to one broker (Java: `Selector` and `KafkaChannel`).

Requests are written at once, in the order of the calls. Responses are matched by order. A late
response closes the connection, because every later response is late as well; an invalid frame
closes it too. Every waiting caller then gets a NetworkError or a timeout, and may retry on a new
connection.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Coroutine
from typing import Final, NamedTuple, TypeVar, cast

from cordwood.client.network.in_flight_requests import InFlightRequest, InFlightRequests
from cordwood.client.network.runtime import ClientRuntime
from cordwood.client.settings import ClientSettings
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
from cordwood.protocol.schema import NEWEST, Request, Response

R = TypeVar("R", bound=Response)

RECEIVED_BYTES: Final = 64 * 1024
_SOFTWARE: Final = "cordwood"


class _PendingResponse(NamedTuple):
    """A response that a caller awaits, and the timer that fires when it is late."""

    response: asyncio.Future[memoryview]
    timer: Timer


class BrokerConnection(asyncio.BufferedProtocol):
    """One connection to a broker; call `open` first."""

    def __init__(self, address: Address, settings: ClientSettings, runtime: ClientRuntime) -> None:
        self.address = address
        self.throttled_until_ms = 0.0
        self._settings = settings
        self._runtime = runtime
        self._in_flight = InFlightRequests(settings.client_id)
        self._reader = FrameReader(lambda: settings.receive_message_max_bytes)
        self._received = memoryview(bytearray(RECEIVED_BYTES))
        self._is_received_in_place = False
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[_PendingResponse] = deque()
        self._failure: KafkaError | None = None
        self._written: asyncio.Future[None] | None = None

    @property
    def is_usable(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and self._failure is None

    @property
    def is_awaited(self) -> bool:
        """Whether a response is pending."""
        return bool(self._waiting)

    async def open(self, tls: ssl.SSLContext | None) -> None:
        """Connect and negotiate API versions; NetworkError if that fails."""
        loop = asyncio.get_running_loop()
        host, port = self.address
        connecting = loop.create_connection(lambda: self, host, port, ssl=tls)
        timeout_ms = self._settings.socket_connection_setup_timeout_ms
        try:
            await self._runtime.run_with_timeout(
                timeout_ms,
                connecting,
                timeout_error=lambda: TimeoutError(f"no connection after {timeout_ms} ms"),
            )
        except (OSError, UnicodeError) as error:  # a host from metadata may be no valid name
            hint = "; does it speak TLS on this port?" if tls is not None else ""
            raise NetworkError(
                f"broker {self.address} cannot be reached: {_reason(error)}{hint}"
            ) from error
        version: int | None = ApiVersionsRequest.__schema__.versions[1]
        request = ApiVersionsRequest(
            client_software_name=_SOFTWARE, client_software_version=__version__
        )
        while version is not None:
            _, response = self._send(request, version)
            version = self._in_flight.update_versions(await response, version)

    def version_of(self, kind: type[Request]) -> int:
        """Return the version for this request class; UnsupportedVersionError if none is shared."""
        return self._in_flight.version_of(kind)

    def feature_level(self, name: str) -> int:
        """Return the finalized level of a feature of the cluster; 0 if it is unknown."""
        return self._in_flight.features.get(name, 0)

    def send(
        self,
        request: Request,
        kind: type[R],
        *,
        timeout_ms: float | None = None,
        most_version: int = NEWEST,
    ) -> Coroutine[object, object, R]:
        """Send the request now; the returned coroutine yields the response.

        The default timeout is `request_timeout_ms`. `most_version` caps the version.
        """
        version = min(self.version_of(type(request)), most_version)
        request_sent, response = self._send(request, version, timeout_ms=timeout_ms)
        return self._decode_response(request_sent, response, kind)

    async def send_without_response(self, request: Request) -> None:
        """Send a request that gets no response, and wait until the kernel has all of it.

        A closed connection drops what is still in its write buffer.
        """
        self.send_last(request)
        while self._written is not None:
            await asyncio.shield(self._written)
        if self._failure is not None:
            raise self._failure

    def send_last(self, request: Request) -> None:
        """Send a request now whose response is not read, before the connection is closed."""
        version = self.version_of(type(request))
        self._write(self._in_flight.add(request, version, has_response=False)[1])

    def close(self, reason: KafkaError | None = None) -> None:
        """Close the connection; waiting callers get the reason."""
        if self._transport is not None:
            self._transport.abort()
        self._fail(reason or NetworkError(f"the connection to {self.address} was closed"))

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)

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
                self._handle_response(self._reader.frames.popleft())
        except BytesError as error:
            text = f"broker {self.address} sent an invalid response: {error}"
            self.close(NetworkError(text))

    def connection_lost(self, exc: Exception | None) -> None:
        why = f": {exc}" if exc else ""
        self._fail(NetworkError(f"broker {self.address} closed the connection{why}"))

    def pause_writing(self) -> None:
        self._written = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        written, self._written = self._written, None
        if written is not None and not written.done():
            written.set_result(None)

    # Requests and responses.

    def _send(
        self, request: Request, version: int, *, timeout_ms: float | None = None
    ) -> tuple[InFlightRequest, asyncio.Future[memoryview]]:
        request_sent, chunks = self._in_flight.add(request, version)
        response: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        limit_ms = self._settings.request_timeout_ms if timeout_ms is None else timeout_ms
        late = self._runtime.scheduler.call_at(
            self._runtime.now_ms() + limit_ms, lambda: self._time_out(request_sent, limit_ms)
        )
        self._waiting.append(_PendingResponse(response, late))
        if self._failure is None:
            self._write(chunks)
        else:
            self._fail(self._failure)
        return request_sent, response

    def _write(self, chunks: list[Chunk]) -> None:
        if self._failure is not None:
            raise self._failure
        assert self._transport is not None, "it is open"
        self._transport.writelines(cast("list[bytes]", chunks))

    async def _decode_response(
        self, request_sent: InFlightRequest, response: asyncio.Future[memoryview], kind: type[R]
    ) -> R:
        body = await response
        try:
            message = decode(kind, body, request_sent.version)
        except BytesError as error:
            raise NetworkError(
                f"broker {self.address} sent an unreadable response to"
                f" {request_sent.api.name}: {error}"
            ) from error
        throttled_ms: int = getattr(message, "throttle_time_ms", 0)
        if throttled_ms > 0:
            self.throttled_until_ms = self._runtime.now_ms() + throttled_ms
        return message

    def _handle_response(self, frame: bytearray) -> None:
        body = self._in_flight.complete(frame)
        waiting = self._waiting.popleft()
        waiting.timer.cancel()
        if not waiting.response.done():
            waiting.response.set_result(body)

    def _time_out(self, request_sent: InFlightRequest, limit_ms: float) -> None:
        is_default = limit_ms == self._settings.request_timeout_ms
        setting = " (request_timeout_ms)" if is_default else ""
        self.close(
            RequestTimedOutError(
                f"broker {self.address} did not answer {request_sent.api.name} within"
                f" {limit_ms:.0f} ms{setting}"
            )
        )

    def _fail(self, reason: KafkaError) -> None:
        self._failure = self._failure or reason
        self.resume_writing()
        while self._waiting:
            waiting = self._waiting.popleft()
            waiting.timer.cancel()
            if not waiting.response.done():
                waiting.response.set_exception(self._failure)
                waiting.response.exception()  # marks it retrieved: the caller may be gone


def _reason(error: Exception) -> str:
    """Return an error's text; some errors of the operating system have none."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name
