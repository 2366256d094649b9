"""Clusters of nodes for tests, over loopback and memory files, with ZooKeeper in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.client.aio import Producer
from cordwood.core.settings import SettingSource
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.node.cluster_ports import ClusterPorts, system_cluster_ports
from cordwood.node.node import Node
from cordwood.node.runtime import NodeRuntime
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.zookeeper.memory_zookeeper import MemoryZooKeeper
from cordwood.testing.zookeeper.memory_zookeeper_client import MemoryZooKeeperClient

GIVEN = {
    "log.dirs": "/logs",
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "zookeeper.connect": "memory",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "controlled.shutdown.retry.backoff.ms": "50",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class Cluster:
    """Nodes with their files; the clocks are real, and no test waits for a time."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.scheduler = LoopScheduler(asyncio.get_running_loop(), self.clock)
        self.server = MemoryZooKeeper(self.clock, self.scheduler, delay_ms=lambda: 0)
        self.clients = dict[int, MemoryZooKeeperClient]()
        self.files = dict[int, MemoryFiles]()
        self.nodes = dict[int, Node]()
        self.brokers = dict[int, BrokerServices]()
        self.stack = AsyncExitStack()

    async def start(self, node_id: int, /, **given: str) -> BrokerServices:
        """Start a broker over its files; 0 stands for a broker without an id."""
        texts = {key.replace("_", "."): text for key, text in given.items()}
        own = {"node.id": str(node_id)} if node_id else {}
        source = SettingSource("test", {**GIVEN, **own, **texts})
        node = Node([source], self._runtime(node_id))
        self.brokers[node_id] = await node.start()
        self.nodes[node_id] = node
        self.stack.push_async_callback(self.stop, node_id)
        return self.brokers[node_id]

    async def stop(self, node_id: int) -> None:
        """Stop a broker, once."""
        node = self.nodes.pop(node_id, None)
        if node is not None:
            await node.stop()

    def _runtime(self, node_id: int) -> NodeRuntime:
        files = self.files.setdefault(node_id, MemoryFiles())
        runtime = inline_runtime(
            files, clock=self.clock, scheduler=self.scheduler, random=SeededRandom(node_id)
        )

        def zookeeper(hosts: str, *, session_timeout_ms: int) -> MemoryZooKeeperClient:
            assert hosts == "memory"
            client = MemoryZooKeeperClient(self.server, session_timeout_ms=session_timeout_ms)
            self.clients[node_id] = client
            return client

        channels = system_cluster_ports(InlineWorker()).channels
        return replace(runtime, cluster=ClusterPorts(zookeeper, channels))

    def address(self, node_id: int) -> str:
        return str(self.nodes[node_id].addresses["PLAINTEXT"])


async def until(condition: Callable[[], bool]) -> None:
    """Give the loop turns until a condition holds; the test's own time limit ends a failure."""
    while not condition():  # noqa: ASYNC110  # the conditions have no event
        await asyncio.sleep(0)


@asynccontextmanager
async def cluster(*node_ids: int) -> AsyncIterator[Cluster]:
    found = Cluster()
    async with found.stack:
        for each in node_ids:
            await found.start(each)
        yield found


def leader_of(broker: BrokerServices, number: int = 0) -> int:
    topic = broker.metadata.image.topics.get("orders")
    return -1 if topic is None else topic.partitions[number].leader


def in_sync(broker: BrokerServices, number: int = 0) -> set[int]:
    return {*broker.metadata.image.topics["orders"].partitions[number].isr}


async def controller_of(found: Cluster) -> BrokerServices:
    """Wait until every broker has the image of a controller with all brokers."""

    def is_known() -> bool:
        images = [found.brokers[each].metadata.image for each in found.nodes]
        ids = {each.controller_id for each in images}
        return (
            len(ids) == 1
            and ids <= {*found.nodes}
            and all({*each.brokers} == {*found.nodes} for each in images)
        )

    await until(is_known)
    return found.brokers[next(iter(found.brokers.values())).metadata.image.controller_id]


async def create_orders(found: Cluster, *, partitions: int = 1) -> None:
    controller = await controller_of(found)
    (created,) = await controller.topics.create([NewTopic(name="orders", partitions=partitions)])
    assert not isinstance(created, Exception), created
    await until(lambda: all(leader_of(each) > 0 for each in found.brokers.values()))


def addresses(found: Cluster) -> str:
    """Return the bootstrap addresses of the brokers that serve."""
    return ",".join(found.address(each) for each in found.nodes)


async def produce(found: Cluster, *values: bytes) -> None:
    async with Producer(addresses(found), acks="all") as producer:
        for value in values:
            await producer.send("orders", value)
        await producer.flush()


def log_end(found: Cluster, node_id: int) -> int:
    return found.brokers[node_id].partitions.get("orders", 0).log.bounds.log_end


def high_watermark(found: Cluster, node_id: int) -> int:
    return found.brokers[node_id].partitions.get("orders", 0).log.bounds.high_watermark
