"""Socket servers for tests, on both event loops and in virtual time, with test clients."""

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

from cordwood.broker.network.acceptor import Listener
from cordwood.broker.network.connection import Handle
from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.network.socket_server import SocketServer, SocketServerPorts
from cordwood.core.address import Address
from cordwood.core.ports import Worker
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import API_VERSIONS
from cordwood.protocol.primitives import Chunk
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.virtual_clock import VirtualClock

T = TypeVar("T")


class Run(Protocol):
    """Runs a coroutine on its own event loop."""

    def __call__(self, scene: Coroutine[object, object, T], /) -> T:
        """Return the result of the coroutine."""


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Run every test on both event loops."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        yield runner.run


def request(correlation_id: int, body: bytes = b"", *, key: int = API_VERSIONS.key) -> bytes:
    """Return the frame of a request in version 0, without a client id."""
    return struct.pack(">ihhih", 10 + len(body), key, 0, correlation_id, -1) + body


async def echo(_context: RequestContext, body: memoryview) -> list[Chunk] | None:
    """Return the request's body; no response to an empty one."""
    return [bytes(body)] if body else None


class Body(bytearray):
    """Bytes of a response to which a weak reference is possible."""


class Peer:
    """The client's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))

    async def answer(self) -> tuple[int, bytes]:
        """Return the correlation id and the body of the next response."""
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        frame = await self.reader.readexactly(size)
        return int.from_bytes(frame[:4], "big"), frame[4:]

    async def ask(self, body: bytes) -> bytes:
        """Send one request and return the body of its response."""
        self.send(request(1, body))
        return (await self.answer())[1]

    async def end(self) -> bytes:
        """Wait until the server closes the connection; return the bytes that it sent before."""
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
        """Reset the connection."""
        accepted = self.writer.get_extra_info("socket")
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass
class ServerHarness:
    """A running socket server in virtual time, with its test clients."""

    server: SocketServer
    clock: VirtualClock
    metrics: Metrics
    addresses: dict[str, Address] = field(default_factory=dict)
    peers: list[Peer] = field(default_factory=list)

    async def connect(self, listener: str = "PLAINTEXT", tls: ssl.SSLContext | None = None) -> Peer:
        """Return a new test client."""
        address = self.addresses[listener]
        streams = await asyncio.open_connection(address.host, address.port, ssl=tls)
        self.peers.append(Peer(*streams))
        return self.peers[-1]

    def ended(self, reason: str) -> float:
        """Return the number of connections that the server has closed for this reason."""
        return self.metrics.counter("cordwood_connections_ended_total", reason).value

    async def until_open(self, count: int) -> None:
        """Wait until the server has `count` connections."""
        while self.server.quotas.total != count:
            await turn()


async def turn() -> None:
    """Run the ready callbacks of the loop, and poll its sockets."""
    loop = asyncio.get_running_loop()
    passed = loop.create_future()
    loop.call_later(0.001, passed.set_result, None)
    await passed


@asynccontextmanager
async def serving(
    handle: Handle = echo,
    settings: SocketServerSettings | None = None,
    *,
    listeners: tuple[Listener, ...] = (Listener(name="PLAINTEXT", host="127.0.0.1", port=0),),
    worker: Worker | None = None,
) -> AsyncIterator[ServerHarness]:
    """Run a server; assert at the end that it has released everything."""
    clock = VirtualClock()
    given = settings or SocketServerSettings()
    metrics = Metrics()
    server = SocketServer(
        handle,
        lambda: given,
        ports=SocketServerPorts(clock, clock, worker or InlineWorker()),
        metrics=metrics,
    )
    harness = ServerHarness(server, clock, metrics, await server.start(listeners))
    try:
        yield harness
    finally:
        async with asyncio.TaskGroup() as group:
            group.create_task(server.stop(1))
            await turn()
            clock.advance(ms=1)
        for peer in harness.peers:
            await peer.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert (server.quotas.total, server.memory.allocated) == (0, 0)
