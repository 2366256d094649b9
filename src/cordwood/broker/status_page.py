"""A few pages for those who watch a broker, over just enough HTTP: one GET, one answer, the end.

    /metrics   what Prometheus reads
    /healthz   200 while the broker serves, 503 while it does not

A page is asked for its text each time. A long one is made a few lines a turn, so that it holds up
nobody, and is then shown as a whole. Who sends too much, or nothing for a while, is cut off, and
so is who comes while all that may be here at a time are.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from cordwood.broker.network import Network
from cordwood.core.address import Address
from cordwood.core.errors import ListenError

if TYPE_CHECKING:
    from cordwood.core.ports import Timer

_LARGEST_REQUEST: Final = 8192
_PATIENCE_MS: Final = 5_000
#: So many connections at a time; whoever watches needs one.
MOST_VISITS: Final = 64
_END_OF_REQUEST: Final = b"\r\n\r\n"
#: So many pieces of a page are made in a turn.
PIECES_A_TURN: Final = 100
_PLAIN: Final = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """What is shown, in pieces. `status` is HTTP's code and its words."""

    pieces: Iterable[str]
    status: str = "200 OK"
    content_type: str = _PLAIN


Pages: TypeAlias = Mapping[str, Callable[[], Page]]

_NOT_FOUND: Final = Page(["no such page\n"], "404 Not Found")
_NOT_ALLOWED: Final = Page(["only GET and HEAD\n"], "405 Method Not Allowed")
_TOO_LARGE: Final = Page(["the request is too large\n"], "431 Request Header Fields Too Large")


class StatusServer:
    """Serves pages on a host and port of its own."""

    def __init__(self, pages: Pages, network: Network) -> None:
        self._pages = pages
        self._network = network
        self._server: asyncio.Server | None = None
        self._visits: set[asyncio.BaseTransport] = set()

    async def start(self, where: Address) -> Address:
        """Listen and return what was bound. ListenError if that cannot be."""
        loop = asyncio.get_running_loop()
        visit = partial(_Visit, self._pages, self._network, self._visits)
        try:
            self._server = await loop.create_server(visit, *where)
        except OSError as error:
            raise ListenError(
                f"pages cannot be served on {where}: {error.strerror}",
                key="cordwood.metrics.listener",
                remedy="choose an address of this machine and a port that nobody has",
            ) from error
        bound = self._server.sockets[0].getsockname()
        return Address(str(bound[0]), int(bound[1]))

    def stop(self) -> None:
        """Show nothing any more."""
        if self._server is not None:
            self._server.close()


class _Visit(asyncio.Protocol):
    """One connection."""

    def __init__(self, pages: Pages, network: Network, visits: set[asyncio.BaseTransport]) -> None:
        self._pages = pages
        self._network = network
        self._visits = visits
        self._request = b""
        self._is_answered = False
        self._timer: Timer | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is of no such class
        if len(self._visits) >= MOST_VISITS:
            self._transport.abort()
            return
        self._visits.add(transport)
        deadline_ms = self._network.clock.monotonic_ms() + _PATIENCE_MS
        self._timer = self._network.scheduler.call_at(deadline_ms, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._visits.discard(self._transport)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._is_answered:
            return
        self._request += data
        if len(self._request) > _LARGEST_REQUEST:
            self._show(_TOO_LARGE)
        elif _END_OF_REQUEST in self._request:
            self._answer()

    def _answer(self) -> None:
        method, _, rest = self._request.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
        if method not in {b"GET", b"HEAD"}:
            self._show(_NOT_ALLOWED)
            return
        page = self._pages.get(path)
        self._show(page() if page else _NOT_FOUND, is_head=method == b"HEAD")

    def _show(self, page: Page, *, is_head: bool = False) -> None:
        self._is_answered = True
        self._make(page, iter(page.pieces), bytearray(), is_head=is_head)

    def _make(self, page: Page, pieces: Iterator[str], body: bytearray, *, is_head: bool) -> None:
        """Make some of a page, and the rest in later turns."""
        if self._transport.is_closing():
            return
        some = [*islice(pieces, PIECES_A_TURN)]
        body += "".join(some).encode()
        if len(some) == PIECES_A_TURN:
            go_on = partial(self._make, page, pieces, body, is_head=is_head)
            asyncio.get_running_loop().call_soon(go_on)
            return
        head = (
            f"HTTP/1.1 {page.status}\r\nContent-Type: {page.content_type}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + (b"" if is_head else body))
        self._transport.close()
