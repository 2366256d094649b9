"""Node of a simulated cluster: a whole broker over the disk model, from its start to its death.

kill       the process ends; the disk keeps all writes
crash      the machine ends: writes that are not synced are lost
pause      messages and timers wait; the session in ZooKeeper ends if it takes long
cut        no connection to ZooKeeper
stop       a controlled shutdown
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cordwood.client.network.runtime import ClientRuntime
from cordwood.client.settings import ClientSettings
from cordwood.cluster.channels.connected_channels import ConnectedChannels
from cordwood.cluster.zookeeper.client.zookeeper_client import (
    NodeStat,
    StateListener,
    StoredNode,
    Watch,
)
from cordwood.core.errors import CordwoodError
from cordwood.core.settings import SettingSource
from cordwood.node.cluster_ports import ClusterPorts
from cordwood.node.node import Node
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.zookeeper.memory_zookeeper import MemoryZooKeeper
from cordwood.testing.zookeeper.memory_zookeeper_client import MemoryZooKeeperClient
from tests.simulation.cluster.cluster_network import (
    NEVER_MS,
    ClusterNetwork,
    SimulatedServers,
)
from tests.simulation.cluster.cluster_world import (
    ClusterWorld,
    ProcessClock,
    ProcessLoop,
    new_process,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from cordwood.broker.services import BrokerServices

SESSION_TIMEOUT_MS: Final = 600
_GIVEN: Final = {
    "log.dirs": "/logs",
    "zookeeper.connect": "memory",
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "400",
    "replica.fetch.wait.max.ms": "200",
    "replica.fetch.backoff.ms": "60",
    "replica.socket.timeout.ms": "500",
    "controller.socket.timeout.ms": "500",
    "request.timeout.ms": "500",
    "controlled.shutdown.retry.backoff.ms": "50",
    "leader.imbalance.check.interval.seconds": "1",
    "replica.high.watermark.checkpoint.interval.ms": "300",
    "auto.create.topics.enable": "false",
    "cordwood.slow.call.ms": "0",
    "log.index.size.max.bytes": "4096",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "300",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "3000",
}


class ProcessZooKeeperClient(MemoryZooKeeperClient):
    """A client whose watches and listeners run in the loop of its process."""

    def __init__(self, server: MemoryZooKeeper, process: ProcessLoop) -> None:
        super().__init__(server, session_timeout_ms=SESSION_TIMEOUT_MS)
        self._process = process

    def listen(self, listener: StateListener) -> None:
        super().listen(lambda state: self._process.call_soon(listener, state))

    def get(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[StoredNode]":
        return super().get(path, watch=self._wrapped(watch))

    def exists(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[NodeStat | None]":
        return super().exists(path, watch=self._wrapped(watch))

    def children(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[list[str]]":
        return super().children(path, watch=self._wrapped(watch))

    def heal(self) -> None:
        if self._process.is_alive:
            super().heal()

    def _wrapped(self, watch: Watch | None) -> Watch | None:
        return None if watch is None else lambda: self._process.call_soon(watch)


class SimulatedNode:
    """One broker over all its incarnations: its id, address and disk stay."""

    def __init__(
        self,
        node_id: int,
        world: ClusterWorld,
        *,
        network: ClusterNetwork,
        zookeeper: MemoryZooKeeper,
    ) -> None:
        self.node_id: Final = node_id
        self.name: Final = f"n{node_id}"
        self.host: Final = f"10.0.0.{node_id}"
        self.files = MemoryFiles(world.clock)
        self.fetch_bytes = 1 << 20
        #: Called when a process has ended by itself.
        self.on_end: Callable[[], object] = lambda: None
        self._world = world
        self._network = network
        self._zookeeper = zookeeper
        self._incarnations = 0
        self.process: ProcessLoop | None = None
        self.client: ProcessZooKeeperClient | None = None
        self.broker: BrokerServices | None = None
        self._node: Node | None = None
        self._servers: SimulatedServers | None = None
        self.is_stopping = False

    @property
    def is_running(self) -> bool:
        """Whether a process runs."""
        return self.process is not None

    def start(self) -> None:
        """Start a process."""
        assert self.process is None, "one process at a time"
        self._world.note("{}: starts", self.name)
        self._incarnations += 1
        self.is_stopping = False
        process = self.process = new_process(self.name, self._world, self._network)
        with process.running():
            self._begin(process)

    def _begin(self, process: ProcessLoop) -> None:
        clock = ProcessClock(process)
        runtime = inline_runtime(
            self.files,
            clock=clock,
            scheduler=clock,
            random=SeededRandom(1_000 * self._world.seed + 10 * self._incarnations + self.node_id),
        )
        servers = self._servers = SimulatedServers(self._network, process)

        def zookeeper(hosts: str, *, session_timeout_ms: int) -> ProcessZooKeeperClient:
            assert (hosts, session_timeout_ms) == ("memory", SESSION_TIMEOUT_MS)
            self.client = ProcessZooKeeperClient(self._zookeeper, process)
            return self.client

        def channels(runtime: ClientRuntime) -> ConnectedChannels:
            settings = ClientSettings(
                bootstrap_servers=("none:1",), socket_connection_setup_timeout_ms=400
            )
            return ConnectedChannels(settings, runtime)

        runtime = replace(runtime, server=servers, cluster=ClusterPorts(zookeeper, channels))
        given = {
            **_GIVEN,
            "node.id": str(self.node_id),
            "listeners": f"PLAINTEXT://{self.host}:9092",
            "broker.rack": "",
            "replica.fetch.max.bytes": str(self.fetch_bytes),
        }
        node = self._node = Node([SettingSource("simulation", given)], runtime)
        process.begin(self._run(node))

    async def _run(self, node: Node) -> None:
        try:
            broker = await node.start()
        except CordwoodError as error:
            self._world.note("{}: cannot start: {!r}", self.name, error)
            self._world.count("starts failed")
            self.kill()
            self.on_end()
        else:
            self._world.note("{}: serves", self.name)
            self.broker = broker

    def stop(self) -> None:
        """Begin a controlled shutdown."""
        process, node = self.process, self._node
        if process is None or node is None or self.broker is None or self.is_stopping:
            return
        self._world.note("{}: begins a controlled shutdown", self.name)
        self.is_stopping = True

        async def stop() -> None:
            await node.stop()
            self._world.note("{}: has stopped", self.name)
            self.kill()
            self.on_end()

        with process.running():
            process.begin(stop())

    def kill(self, *, late_ms: float = NEVER_MS) -> None:
        """End the process; the disk keeps all writes."""
        self._end(late_ms)
        self.files.end_process()

    def crash(self, *, loses_disk: bool, late_ms: float = NEVER_MS) -> None:
        """End the machine, which loses the writes that are not synced, or its whole disk."""
        self._end(late_ms)
        if loses_disk:
            self.files = MemoryFiles(self._world.clock)
        else:
            self.files.crash()

    def _end(self, late_ms: float) -> None:
        process, client, servers = self.process, self.client, self._servers
        assert process is not None, "a process runs"
        process.kill()
        self.process = self.broker = self.client = self._node = None
        self.is_stopping = False
        if servers is not None and servers.server is not None:
            servers.server.leave()
        self._network.break_all(process, late_ms=late_ms)
        if client is not None:
            client.cut()

    # -- pauses

    def pause(self) -> None:
        """Let messages and timers wait; the session ends after its timeout."""
        process, client = self.process, self.client
        assert process is not None, "a process runs"
        process.pause()

        def expire() -> None:
            if process.is_paused and process.is_alive and client is not None:
                self._world.count("sessions expired in pauses")
                self._world.note("{}: its session expires", self.name)
                self._zookeeper.expire(client.session_id)

        self._world.after(SESSION_TIMEOUT_MS, expire)

    def expire(self) -> None:
        """Let ZooKeeper end the session, although the node is alive."""
        if self.client is not None:
            self._zookeeper.expire(self.client.session_id)
