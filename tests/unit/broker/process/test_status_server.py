"""Tests of the HTTP server of status pages."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import pytest

from cordwood.broker.process.status_server import (
    MAX_CONNECTIONS,
    PIECES_PER_TURN,
    StatusPage,
    StatusServer,
)
from cordwood.core.address import Address
from cordwood.core.errors import ListenError
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.server_samples import Run, turn

PAGES = {
    "/metrics": lambda: StatusPage(["answers ", "1\n"], content_type="text/x"),
    "/long": lambda: StatusPage(map(str, range(10 * PIECES_PER_TURN))),
    "/healthz": lambda: StatusPage(["not yet\n"], "503 Service Unavailable"),
}


@asynccontextmanager
async def visiting(
    clock: VirtualClock,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a status server."""
    server = StatusServer(PAGES, clock=clock, scheduler=clock)
    address = await server.start(Address("127.0.0.1", 0))
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionResetError):
            await writer.wait_closed()
        server.stop()


async def asked(*parts: bytes) -> bytes:
    """Return the response to a request that arrives in these pieces."""
    async with visiting(VirtualClock()) as (reader, writer):
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await reader.read()


def test_page_is_shown_with_its_kind_and_length(run: Run) -> None:
    answer = run(asked(b"GET /metrics?x=1 HT", b"TP/1.1\r\nHost: a\r\n\r\n"))

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Type: text/x\r\nContent-Length: 10\r\n" in head
    assert body == b"answers 1\n"


@pytest.mark.parametrize(
    ("request_line", "status"),
    (
        (b"GET /healthz HTTP/1.1", b"503 Service Unavailable"),
        (b"GET /other HTTP/1.1", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1", b"405 Method Not Allowed"),
        (b"\x00\xff", b"405 Method Not Allowed"),
        (b"GET /" + b"x" * 9000, b"431 Request Header Fields Too Large"),
    ),
)
def test_request_gets_the_status_it_deserves(run: Run, request_line: bytes, status: bytes) -> None:
    answer = run(asked(request_line + b"\r\n\r\n"))

    assert answer.startswith(b"HTTP/1.1 " + status)


def test_long_page_is_shown_whole(run: Run) -> None:
    answer = run(asked(b"GET /long HTTP/1.1\r\n\r\n"))

    body = answer.partition(b"\r\n\r\n")[2]
    assert body == "".join(map(str, range(10 * PIECES_PER_TURN))).encode()


def test_long_page_yields_to_other_tasks_while_it_is_rendered(run: Run) -> None:
    turns_at_a_piece = list[int]()

    async def scene() -> None:
        turns, loop, clock = itertools.count(), asyncio.get_running_loop(), VirtualClock()
        passed = [0]

        def pass_turn() -> None:
            passed[0] = next(turns)
            loop.call_soon(pass_turn)

        def pieces() -> Iterator[str]:
            for _ in range(5 * PIECES_PER_TURN):
                turns_at_a_piece.append(passed[0])
                yield "x"

        server = StatusServer({"/": lambda: StatusPage(pieces())}, clock=clock, scheduler=clock)
        reader, writer = await asyncio.open_connection(*await server.start(Address("127.0.0.1", 0)))
        pass_turn()
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await reader.read()
        writer.close()
        server.stop()

    run(scene())

    assert len({*turns_at_a_piece}) == 5


def test_head_is_answered_without_the_page(run: Run) -> None:
    answer = run(asked(b"HEAD /metrics HTTP/1.1\r\n\r\n"))

    assert answer.endswith(b"Content-Length: 10\r\nConnection: close\r\n\r\n")


def test_silent_connection_is_aborted(run: Run) -> None:
    clock = VirtualClock()

    async def scene() -> bytes:
        async with visiting(clock) as (reader, writer):
            writer.write(b"GET /met")
            while clock.next_call_ms() is None:
                await turn()
            clock.advance(seconds=5)
            with suppress(ConnectionResetError):
                return await reader.read()
            return b""

    assert run(scene()) == b""


async def visited(requests: list[bytes]) -> list[bytes]:
    """Return the start of each response; all connections are open before the first is read."""
    clock = VirtualClock()
    server = StatusServer(PAGES, clock=clock, scheduler=clock)
    address = await server.start(Address("127.0.0.1", 0))
    visits = []
    for sent in requests:
        visits.append(await asyncio.open_connection(*address))
        visits[-1][1].write(sent)
        await turn()
    clock.advance(seconds=5)
    answers = []
    for reader, writer in visits:
        try:
            answers.append((await reader.read())[:15])
        except ConnectionResetError:
            answers.append(b"")
        writer.transport.abort()
    server.stop()
    await turn()
    return answers


def test_health_check_is_answered_however_many_clients_are_silent(run: Run) -> None:
    silent = [b""] * (MAX_CONNECTIONS - 1) + [b"GET /heal"]

    answers = run(visited([*silent, b"HEAD /metrics HTTP/1.1\r\n\r\n"]))

    assert answers == [b""] * MAX_CONNECTIONS + [b"HTTP/1.1 200 OK"]


def test_oldest_silent_connection_is_displaced(run: Run) -> None:
    clock = VirtualClock()

    async def scene() -> list[bool]:
        server = StatusServer(PAGES, clock=clock, scheduler=clock)
        address = await server.start(Address("127.0.0.1", 0))
        visits = [await asyncio.open_connection(*address) for _ in range(MAX_CONNECTIONS + 2)]
        for reader, _ in visits[:2]:
            with suppress(ConnectionResetError):
                await reader.read()
        ended = [reader.at_eof() or reader.exception() is not None for reader, _ in visits]
        for _, writer in visits:
            writer.transport.abort()
        server.stop()
        await turn()
        return ended

    assert run(scene()) == [True, True] + [False] * MAX_CONNECTIONS


def test_address_in_use_is_rejected_with_a_remedy(run: Run) -> None:
    clock = VirtualClock()

    async def scene() -> None:
        first = StatusServer(PAGES, clock=clock, scheduler=clock)
        address = await first.start(Address("127.0.0.1", 0))
        try:
            await StatusServer(PAGES, clock=clock, scheduler=clock).start(address)
        finally:
            first.stop()

    with pytest.raises(ListenError, match=r"cannot listen on .*; choose an address"):
        run(scene())
