"""Servers for tests, on both event loops and in virtual time, and peers that speak to them."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import pytest
import uvloop

from cordwood.broker.connection import Handle
from cordwood.broker.limits import ServerSettings
from cordwood.broker.listening import Listener
from cordwood.broker.network import Network
from cordwood.broker.request import RequestContext
from cordwood.broker.server import Server
from cordwood.core.address import Address
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import API_VERSIONS
from cordwood.protocol.primitives import Chunk
from cordwood.testing.clock import VirtualClock

T = TypeVar("T")


class Run(Protocol):
    """Runs a scene on an event loop of its own."""

    def __call__(self, scene: Coroutine[object, object, T], /) -> T:
        """Return what the scene returns."""


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Each scene is seen on both loops."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        yield runner.run


def request(correlation_id: int, body: bytes = b"", *, key: int = API_VERSIONS.key) -> bytes:
    """Return the frame of a request of version 0, from a client without a name."""
    return struct.pack(">ihhih", 10 + len(body), key, 0, correlation_id, -1) + body


async def echo(_context: RequestContext, body: memoryview) -> list[Chunk] | None:
    """Answer with what was asked; nothing where nothing was."""
    return [bytes(body)] if body else None


class Peer:
    """The other end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))

    async def answer(self) -> tuple[int, bytes]:
        """Return the correlation id of the next answer, and its body."""
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        frame = await self.reader.readexactly(size)
        return int.from_bytes(frame[:4], "big"), frame[4:]

    async def ask(self, body: bytes) -> bytes:
        """Send one request and return the body of its answer."""
        self.send(request(1, body))
        return (await self.answer())[1]

    async def end(self) -> bytes:
        """Wait until the server closes, and return what it sent before."""
        try:
            return await self.reader.read()
        except ConnectionResetError:
            return b""

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            return

    def reset(self) -> None:
        """Go without a word."""
        accepted = self.writer.get_extra_info("socket")
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass
class House:
    """A server at work, in virtual time, and those who are connected to it."""

    server: Server
    clock: VirtualClock
    metrics: Metrics
    addresses: dict[str, Address] = field(default_factory=dict)
    peers: list[Peer] = field(default_factory=list)

    async def connect(self, listener: str = "PLAINTEXT", tls: ssl.SSLContext | None = None) -> Peer:
        """Return a new connection."""
        address = self.addresses[listener]
        streams = await asyncio.open_connection(address.host, address.port, ssl=tls)
        self.peers.append(Peer(*streams))
        return self.peers[-1]

    def ended(self, reason: str) -> float:
        """Return how many connections the server has ended for this reason."""
        return self.metrics.counter("cordwood_connections_ended_total", reason).value

    async def until_open(self, count: int) -> None:
        """Wait until the server has so many connections."""
        while self.server.limits.total != count:
            await turn()


async def turn() -> None:
    """Let the loop do what it can do now, and look at its sockets."""
    loop = asyncio.get_running_loop()
    passed = loop.create_future()
    loop.call_later(0.001, passed.set_result, None)
    await passed


@asynccontextmanager
async def serving(
    handle: Handle = echo,
    settings: ServerSettings | None = None,
    *,
    listeners: tuple[Listener, ...] = (Listener(name="PLAINTEXT", host="127.0.0.1", port=0),),
) -> AsyncIterator[House]:
    """Serve, and see that nothing is left when that has ended."""
    clock = VirtualClock()
    given = settings or ServerSettings()
    metrics = Metrics()
    server = Server(handle, lambda: given, network=Network(clock, clock), metrics=metrics)
    house = House(server, clock, metrics, await server.start(listeners))
    try:
        yield house
    finally:
        async with asyncio.TaskGroup() as group:
            group.create_task(server.stop(1))
            await turn()
            clock.advance(ms=1)
        for peer in house.peers:
            await peer.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert (server.limits.total, server.budget.taken) == (0, 0)
