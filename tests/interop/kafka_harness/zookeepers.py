"""ZooKeeper servers from Kafka's jars, each in a process of its own, and relays to break.

A relay is between one client and the server, on the client's event loop.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from kazoo.client import KazooClient

from cordwood.cluster.zookeeper.client.kazoo_client import KazooZooKeeperClient
from cordwood.cluster.zookeeper.client.zookeeper_client import SessionState, ZooKeeperClient
from cordwood.core.ports import Worker
from tests.interop.kafka_harness.brokers import COMMON, Broker, Server, free_port
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle

#: Long enough that no session ends by itself on a busy machine.
SESSION_TIMEOUT_MS: Final = 20_000
#: The listener for the requests of brokers, where they have one of their own.
INTERNAL: Final = "INTERNAL"
_MAIN: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"


@dataclass(frozen=True, slots=True)
class RunningZooKeeper:
    """A server; clients connect as soon as it listens."""

    port: int
    server: Server

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def running_zookeeper(jars: Jars, folder: Path) -> Iterator[RunningZooKeeper]:
    """Run a server for as long as the block lasts."""
    port, settings = free_port(), folder / "zoo.cfg"
    settings.write_text(
        f"dataDir={folder / 'zookeeper'}\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
        "admin.enableServer=false\ntickTime=500\nmaxClientCnxns=0\n"
        # Tests do not cut the power, and other work may hold up the disk for seconds.
        "forceSync=no\n"
    )
    server = Server("zookeeper", jars.command(_MAIN, str(settings)), folder / "zookeeper.txt")
    server.start()
    try:
        yield RunningZooKeeper(port, server)
    finally:
        server.stop()


def kafka39_in(
    zookeeper: RunningZooKeeper, root: str, *, jars: Jars, folder: Path, oracle: Oracle
) -> Broker:
    """Kafka 3.9.1 with the id 1 and its default protocol, below a root in ZooKeeper."""
    port = free_port()
    more = f"""broker.id=1
broker.rack=r1
listeners=PLAINTEXT://127.0.0.1:{port}
"""
    return _kafka39(zookeeper, root, port=port, more=more, jars=jars, folder=folder, oracle=oracle)


def member39_in(
    zookeeper: RunningZooKeeper,
    root: str,
    *,
    broker_id: int,
    jars: Jars,
    folder: Path,
    oracle: Oracle,
) -> Broker:
    """Kafka 3.9.1 among other brokers, with a listener of its own for these."""
    port = free_port()
    more = f"""broker.id={broker_id}
listeners=PLAINTEXT://127.0.0.1:{port},{INTERNAL}://127.0.0.1:{free_port()}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,{INTERNAL}:PLAINTEXT
inter.broker.listener.name={INTERNAL}
zookeeper.session.timeout.ms=4000
"""
    return _kafka39(zookeeper, root, port=port, more=more, jars=jars, folder=folder, oracle=oracle)


def _kafka39(  # noqa: PLR0913  # tidy: allow[parameters] the parts of the broker
    zookeeper: RunningZooKeeper,
    root: str,
    *,
    port: int,
    more: str,
    jars: Jars,
    folder: Path,
    oracle: Oracle,
) -> Broker:
    settings = folder / "server.properties"
    settings.write_text(
        f"""zookeeper.connect={zookeeper.address}{root}
log.dirs={folder / "logs"}
{more}{COMMON}"""
    )
    return Broker(
        bootstrap=f"127.0.0.1:{port}",
        logs=folder / "logs",
        servers=[
            Server(
                "kafka",
                jars.command("kafka.Kafka", str(settings), heap="512m"),
                folder / "kafka.txt",
            )
        ],
        oracle=oracle,
    )


class Relay:
    """A relay of bytes, which can break, stay cut, and swallow what the server sends."""

    def __init__(self, target_port: int) -> None:
        self.is_cut = False
        self.port = 0
        self._target_port = target_port
        self._writers = set[asyncio.StreamWriter]()
        self._listener: asyncio.Server | None = None
        self._is_muted = False
        self._swallowed = asyncio.Event()

    async def start(self) -> None:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    def close(self) -> None:
        assert self._listener is not None
        self._listener.close()
        self.abort()

    def abort(self) -> None:
        """Break all connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def abort_after_response(self) -> None:
        """Break all connections when the server has responded; the response is lost."""
        self._is_muted = True
        await self._swallowed.wait()
        self.abort()
        self._is_muted = False
        self._swallowed.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        try:
            upstream, server = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        async with asyncio.TaskGroup() as group:
            self._writers |= {writer, server}
            group.create_task(self._copy(reader, server, is_response=False))
            group.create_task(self._copy(upstream, writer, is_response=True))
        self._writers -= {writer, server}

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_response: bool
    ) -> None:
        try:
            while data := await reader.read(1 << 16):
                if is_response and self._is_muted:
                    self._swallowed.set()
                else:
                    writer.write(data)
        except OSError:
            pass
        writer.transport.abort()


class KazooKeeper:
    """The server behind a relay for each client; nodes are below a root of their own."""

    _roots = count(1)

    def __init__(self, zookeeper: RunningZooKeeper, worker: Worker) -> None:
        self._zookeeper = zookeeper
        self._worker = worker
        self._root = f"/scene{next(self._roots)}"
        self._relays = dict[ZooKeeperClient, Relay]()

    async def start(self) -> None:
        """Create the root of the scene."""
        client = self._client(self._zookeeper.address)
        client.start()
        await client.create(self._root)
        await client.close()

    async def close(self) -> None:
        for client, relay in self._relays.items():
            if client.state is not SessionState.CLOSED:
                await client.close()
            relay.close()

    async def client(self) -> ZooKeeperClient:
        relay = Relay(self._zookeeper.port)
        await relay.start()
        client = self._client(f"127.0.0.1:{relay.port}{self._root}")
        self._relays[client] = relay
        return client

    def direct(self, root: str) -> KazooZooKeeperClient:
        """Return a client without a relay, below another root."""
        return self._client(f"{self._zookeeper.address}{root}")

    def _client(self, hosts: str) -> KazooZooKeeperClient:
        return KazooZooKeeperClient(
            hosts,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            loop=asyncio.get_running_loop(),
            worker=self._worker,
        )

    def break_connection(self, client: ZooKeeperClient) -> None:
        self._relays[client].abort()

    async def lose_responses(self, client: ZooKeeperClient) -> None:
        await self._relays[client].abort_after_response()

    def cut(self, client: ZooKeeperClient) -> None:
        self._relays[client].is_cut = True
        self._relays[client].abort()

    def heal(self, client: ZooKeeperClient) -> None:
        self._relays[client].is_cut = False

    async def expire(self, client: ZooKeeperClient) -> None:
        """Close the session from another connection, which ZooKeeper permits."""
        assert isinstance(client, KazooZooKeeperClient)
        kazoo = client._kazoo  # noqa: SLF001  the port does not show the password of a session
        session = (kazoo._session_id, kazoo._session_passwd)  # noqa: SLF001  as above
        await asyncio.to_thread(self._close_session, session)

    def _close_session(self, session: tuple[int, bytes]) -> None:
        thief = KazooClient(self._zookeeper.address, client_id=session)
        thief.start()
        thief.stop()
        thief.close()
