"""Minimal HTTP server for metrics and health: one GET or HEAD request a connection.

    /metrics   the metrics, in Prometheus's text format
    /healthz   200 while the broker serves, 503 otherwise

A page is rendered for every request. Rendering takes several loop turns for a long page, so that it
does not block requests of Kafka clients; the response is sent as a whole. A connection is aborted
if its request is too large or too slow. If there are too many connections, a new one displaces the
oldest that has not sent a request: silent clients do not lock out a health check.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from cordwood.core.address import Address
from cordwood.core.errors import ListenError
from cordwood.core.ports import Clock, Scheduler

if TYPE_CHECKING:
    from cordwood.core.ports import Timer

_MAX_REQUEST_BYTES: Final = 8192
_TIMEOUT_MS: Final = 5_000
#: The highest number of connections; a monitoring system needs one.
MAX_CONNECTIONS: Final = 64
_END_OF_REQUEST: Final = b"\r\n\r\n"
#: Pieces of a page that are rendered in one loop turn.
PIECES_PER_TURN: Final = 100
_PLAIN: Final = "text/plain; charset=utf-8"


class StatusPage(NamedTuple):
    """The text of a page in pieces; `status` is the HTTP status code with its reason phrase."""

    pieces: Iterable[str]
    status: str = "200 OK"
    content_type: str = _PLAIN


Pages: TypeAlias = Mapping[str, Callable[[], StatusPage]]

_NOT_FOUND: Final = StatusPage(["no such page\n"], "404 Not Found")
_NOT_ALLOWED: Final = StatusPage(["only GET and HEAD\n"], "405 Method Not Allowed")
_TOO_LARGE: Final = StatusPage(
    ["the request is too large\n"], "431 Request Header Fields Too Large"
)


class StatusServer:
    """Serves pages on its own host and port."""

    def __init__(self, pages: Pages, *, clock: Clock, scheduler: Scheduler) -> None:
        self._pages = pages
        self._clock = clock
        self._scheduler = scheduler
        self._server: asyncio.Server | None = None
        self._connections: dict[_HttpConnection, None] = {}

    async def start(self, address: Address) -> Address:
        """Listen and return the bound address; raise ListenError if that fails."""
        loop = asyncio.get_running_loop()
        make = partial(
            _HttpConnection,
            self._pages,
            clock=self._clock,
            scheduler=self._scheduler,
            connections=self._connections,
        )
        try:
            self._server = await loop.create_server(make, *address)
        except OSError as error:
            raise ListenError(
                f"metrics listener: cannot listen on {address}: {error.strerror}",
                key="cordwood.metrics.listener",
                remedy="choose an address of this machine and a free port",
            ) from error
        bound = self._server.sockets[0].getsockname()
        return Address(str(bound[0]), int(bound[1]))

    def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()


class _HttpConnection(asyncio.Protocol):
    """One connection."""

    def __init__(
        self,
        pages: Pages,
        *,
        clock: Clock,
        scheduler: Scheduler,
        connections: "dict[_HttpConnection, None]",
    ) -> None:
        self._pages = pages
        self._clock = clock
        self._scheduler = scheduler
        self._connections = connections
        self._request = b""
        self.is_answered = False
        self._timer: Timer | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass
        if len(self._connections) >= MAX_CONNECTIONS:
            self._displaced().abort()
        self._connections[self] = None
        deadline_ms = self._clock.monotonic_ms() + _TIMEOUT_MS
        self._timer = self._scheduler.call_at(deadline_ms, self._transport.abort)

    def abort(self) -> None:
        """Close the connection without a response, and free its place at once."""
        self._connections.pop(self, None)
        self._transport.abort()

    def _displaced(self) -> "_HttpConnection":
        """Return the oldest connection without a request, else the oldest one."""
        silent = (each for each in self._connections if not each.is_answered)
        return next(silent, next(iter(self._connections)))

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._connections.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self.is_answered:
            return
        self._request += data
        if len(self._request) > _MAX_REQUEST_BYTES:
            self._respond(_TOO_LARGE)
        elif _END_OF_REQUEST in self._request:
            self._handle_request()

    def _handle_request(self) -> None:
        method, _, rest = self._request.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
        if method not in {b"GET", b"HEAD"}:
            self._respond(_NOT_ALLOWED)
            return
        page = self._pages.get(path)
        self._respond(page() if page else _NOT_FOUND, is_head=method == b"HEAD")

    def _respond(self, page: StatusPage, *, is_head: bool = False) -> None:
        self.is_answered = True
        self._render(page, iter(page.pieces), bytearray(), is_head=is_head)

    def _render(
        self, page: StatusPage, pieces: Iterator[str], body: bytearray, *, is_head: bool
    ) -> None:
        """Render the next pieces of a page; send it after the last one."""
        if self._transport.is_closing():
            return
        some = [*islice(pieces, PIECES_PER_TURN)]
        body += "".join(some).encode()
        if len(some) == PIECES_PER_TURN:
            render_more = partial(self._render, page, pieces, body, is_head=is_head)
            asyncio.get_running_loop().call_soon(render_more)
            return
        head = (
            f"HTTP/1.1 {page.status}\r\nContent-Type: {page.content_type}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + (b"" if is_head else body))
        self._transport.close()
