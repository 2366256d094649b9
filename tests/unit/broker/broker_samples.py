"""Brokers for tests: over memory files and in virtual time, with topics, and no socket."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

from cordwood.broker.broker import Broker
from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.configuring import ConfigChanges
from cordwood.broker.features import Features
from cordwood.broker.fetch_sessions import FetchSessions
from cordwood.broker.hosting import HostingTools
from cordwood.broker.metadata import Metadata
from cordwood.broker.metadata_writer import MetadataWriter
from cordwood.broker.network import Network
from cordwood.broker.partition import Partition, PartitionTools
from cordwood.broker.partitions import Partitions
from cordwood.broker.producer_ids import ProducerIds, block_after, format_block
from cordwood.broker.request import ConnectionInfo, RequestContext
from cordwood.broker.topic_nodes import folders
from cordwood.broker.topics import Topics, TopicTools
from cordwood.core.ports import Worker
from cordwood.core.settings import Source
from cordwood.records.inspect import PlainInspector
from cordwood.storage.flusher import Flusher
from cordwood.storage.log_config import LogConfig
from cordwood.testing.clock import VirtualClock
from cordwood.testing.metadata import MemoryMetadata
from cordwood.testing.random import SeededRandom
from tests.unit.broker.image_samples import cluster
from tests.unit.storage.manager_samples import ORDERS_ID, House, partition

T = TypeVar("T")

ORDERS = "orders"


class Blocks:
    """Where the last block of producer ids is kept."""

    def __init__(self) -> None:
        self.latest: bytes | None = None

    async def take(self) -> range:
        block = block_after(self.latest)
        self.latest = format_block(block, 1)
        return block


class Hall:
    """A broker's logs on a clock of their own, and the network on another."""

    def __init__(
        self,
        config: LogConfig | None = None,
        *,
        worker: Worker | None = None,
        given: dict[str, str] | None = None,
        slots: int = 1000,
    ) -> None:
        self.house = House(config=config or LogConfig())
        self.manager = self.house.load(worker)
        self.flusher = Flusher(self.manager)
        self.time = VirtualClock()
        self.store = MemoryMetadata()
        self.store.multi(folders())
        self.configs = BrokerConfigs(1, [Source("server.properties", given or {})])
        self.metadata = Metadata(cluster())
        self.broker = self._broker(FetchSessions(SeededRandom(1), slots))
        self.connection = ConnectionInfo(
            id=1, host="::1", port=1, listener="PLAINTEXT", is_secure=False
        )

    def _broker(self, sessions: FetchSessions) -> Broker:
        configs, metadata, events = self.configs, self.metadata, self.house.events
        partitions = Partitions(PartitionTools(self.manager, self.flusher, PlainInspector))
        self.hosting = HostingTools(self.manager, partitions, events.append)
        writer = MetadataWriter(self.store, self.manager.tools.worker)
        topics = TopicTools(writer, configs, metadata, self.hosting, SeededRandom(2))
        return Broker(
            network=Network(self.time, self.time),
            features=Features(),
            configs=configs,
            config_changes=ConfigChanges(writer, configs, metadata),
            metadata=metadata,
            topics=Topics(topics),
            logs=self.manager,
            partitions=partitions,
            sessions=sessions,
            producer_ids=ProducerIds(Blocks().take),
        )

    def host(self, *epochs: int, topic: str = ORDERS) -> Partition:
        """Make a topic with a partition for each leader epoch, and return its first one."""
        epochs = epochs or (0,)
        topic_id = ORDERS_ID if topic == ORDERS else type(ORDERS_ID)(topic.encode().ljust(16))
        for index in range(len(epochs)):
            self.manager.create(partition(index, topic), topic_id=topic_id)
        self.broker.partitions.host(topic, topic_id=topic_id, leader_epochs=epochs)
        return self.broker.partitions.get(topic, 0)

    def context(self, version: int, *, client_id: str | None = "client") -> RequestContext:
        return RequestContext(-1, version, 1, client_id, self.connection)


def run(scene: Coroutine[object, object, T]) -> T:
    """Return what a scene comes to."""
    return asyncio.run(scene)


async def turns(count: int = 3) -> None:
    """Let every task go on as far as it can."""
    loop = asyncio.get_running_loop()
    for _ in range(count):
        passed = loop.create_future()
        loop.call_soon(passed.set_result, None)
        await passed


async def meanwhile(
    scene: Coroutine[object, object, T], *steps: Callable[[], object]
) -> tuple[list[bool], T]:
    """Run a scene beside steps; return whether it was over before each of them, and its result."""
    over = []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(scene)
        for step in steps:
            await turns()
            over.append(task.done())
            step()
    return over, task.result()
