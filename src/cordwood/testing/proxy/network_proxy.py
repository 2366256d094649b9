"""Proxy for asyncio: a listener for each broker of a cluster, on the loopback address.

    async with NetworkProxy("127.0.0.1:9092") as proxy, aio.Producer(proxy.bootstrap) as producer:
        with proxy.faults.on("Produce").close(handled=True):
            await producer.send("orders", b"3 beams")

A broker's listener starts when a response names the broker for the first time. Delays run on the
given runtime's clock; with a virtual one they end when the test advances it. Connections are
plaintext: the proxy has to read the frames.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

from cordwood.client.network.owned_tasks import OwnedTasks
from cordwood.client.network.runtime import ClientRuntime, system_runtime
from cordwood.core.address import Address
from cordwood.testing.proxy.network_faults import ConnectionChance, NetworkFaults
from cordwood.testing.proxy.proxied_connection import ProxiedConnection

_LOOPBACK: Final = "127.0.0.1"


class NetworkProxy:
    """Proxy of one cluster; `faults` are the faults of all its connections."""

    def __init__(
        self, bootstrap: str, *, runtime: Callable[[], ClientRuntime] = system_runtime
    ) -> None:
        self.faults = NetworkFaults()
        #: Connections that clients opened.
        self.connections = 0
        self._bootstrap = tuple(
            Address.parse(each.strip(), key="bootstrap") for each in bootstrap.split(",")
        )
        self._runtime = runtime
        self._listeners: dict[Address, asyncio.Server] = {}
        self._starting = asyncio.Lock()
        self._tasks = OwnedTasks()

    @property
    def bootstrap(self) -> str:
        """Addresses for clients, as host:port with commas between them."""
        return ",".join(str(_address_of(self._listeners[each])) for each in self._bootstrap)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.close()
        if kind is None:
            self.faults.clear()

    async def start(self) -> None:
        """Listen for the bootstrap brokers."""
        for each in self._bootstrap:
            await self._listen_for(each)

    async def close(self) -> None:
        """Close all listeners and connections."""
        for server in self._listeners.values():
            server.close()
        await self._tasks.close()
        for server in self._listeners.values():
            await server.wait_closed()

    async def _listen_for(self, target: Address) -> Address:
        """Return the proxy's address for a broker; start its listener at the first call."""
        async with self._starting:
            server = self._listeners.get(target)
            if server is None:

                def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                    self._tasks.start(self._serve(reader, writer, target=target))

                server = await asyncio.start_server(accepted, _LOOPBACK, 0)
                self._listeners[target] = server
        return _address_of(server)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, target: Address
    ) -> None:
        self.connections += 1
        connection = ProxiedConnection(
            self.faults,
            self._runtime(),
            address_of=self._listen_for,
            chance=ConnectionChance(self.connections),
        )
        try:
            with suppress(OSError):  # the broker cannot be reached: the client is closed, too
                await connection.serve(reader, writer, target=target)
        finally:
            writer.close()


def _address_of(server: asyncio.Server) -> Address:
    host, port = server.sockets[0].getsockname()
    return Address(host, port)
