"""Brokers for tests, over memory files and in virtual time, without sockets."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.metadata.producer_id_manager import (
    ProducerIdManager,
    block_after,
    format_block,
)
from cordwood.broker.metadata.topic_znodes import folders
from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.broker.partitions.fetch_sessions import FetchSessionCache
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.services import BrokerFeatures, BrokerServices
from cordwood.broker.topics.config_changes import ConfigChanges
from cordwood.broker.topics.topic_hosting import TopicHosting
from cordwood.broker.topics.topic_manager import TopicManager
from cordwood.core.ports import Worker
from cordwood.core.settings import SettingSource
from cordwood.core.types import TopicName
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.timestamp_lookups import TimestampLookups
from cordwood.testing.memory_metadata import MemoryMetadata
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.image_samples import cluster
from tests.unit.storage.manager_samples import ORDERS_ID, LogManagerHarness, partition

T = TypeVar("T")

ORDERS = "orders"


class BlockAllocator:
    """An allocator of producer id blocks in memory."""

    def __init__(self) -> None:
        self.latest: bytes | None = None

    async def take(self) -> range:
        block = block_after(self.latest)
        self.latest = format_block(block, 1)
        return block


class BrokerHarness:
    """The services of a broker; its logs and its network have separate virtual clocks."""

    def __init__(
        self,
        config: LogConfig | None = None,
        *,
        worker: Worker | None = None,
        given: dict[str, str] | None = None,
        slots: int = 1000,
    ) -> None:
        self.storage = LogManagerHarness(config=config or LogConfig())
        self.manager = self.storage.load(worker)
        self.flusher = LogFlusher(self.manager)
        self.time = VirtualClock()
        self.store = MemoryMetadata()
        self.store.multi(folders())
        self.configs = BrokerConfigs(1, [SettingSource("server.properties", given or {})])
        self.metadata = MetadataCache(cluster())
        self.broker = self._broker(FetchSessionCache(SeededRandom(1), slots))
        self.connection = ConnectionInfo(
            id=1, host="::1", port=1, listener="PLAINTEXT", is_secure=False
        )

    def _broker(self, sessions: FetchSessionCache) -> BrokerServices:
        configs, metadata, events = self.configs, self.metadata, self.storage.events
        partitions = HostedPartitions(self.manager, self.flusher, inspector=PlainInspector)
        self.hosting = TopicHosting(self.manager, partitions, events.append)
        writer = MetadataWriter(self.store, self.manager.ports.worker)
        return BrokerServices(
            clock=self.time,
            scheduler=self.time,
            features=BrokerFeatures(),
            configs=configs,
            config_changes=ConfigChanges(writer, configs, metadata),
            metadata=metadata,
            topics=TopicManager(
                writer,
                configs=configs,
                metadata=metadata,
                hosting=self.hosting,
                random=SeededRandom(2),
            ),
            logs=self.manager,
            timestamp_lookups=TimestampLookups(self.manager),
            partitions=partitions,
            sessions=sessions,
            producer_ids=ProducerIdManager(BlockAllocator().take),
        )

    def host(self, *epochs: int, topic: str = ORDERS) -> Partition:
        """Create a topic with a partition for each leader epoch; return the first partition."""
        epochs = epochs or (0,)
        topic_id = ORDERS_ID if topic == ORDERS else type(ORDERS_ID)(topic.encode().ljust(16))
        for index in range(len(epochs)):
            log_creation.create(self.manager, partition(index, topic), topic_id=topic_id)
        self.broker.partitions.host(topic, topic_id=topic_id, leader_epochs=epochs)
        for log in self.manager.logs_of(TopicName(topic)):
            log.epoch_file.save()
        return self.broker.partitions.get(topic, 0)

    def context(self, version: int, *, client_id: str | None = "client") -> RequestContext:
        return RequestContext(-1, version, 1, client_id, self.connection)


def run(scene: Coroutine[object, object, T]) -> T:
    """Return the result of a coroutine."""
    return asyncio.run(scene)


async def turns(count: int = 3) -> None:
    """Let every task run as far as it can."""
    loop = asyncio.get_running_loop()
    for _ in range(count):
        passed = loop.create_future()
        loop.call_soon(passed.set_result, None)
        await passed


async def meanwhile(
    scene: Coroutine[object, object, T], *steps: Callable[[], object]
) -> tuple[list[bool], T]:
    """Run a coroutine with steps; return whether it was done before each step, and its result."""
    over = []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(scene)
        for step in steps:
            await turns()
            over.append(task.done())
            step()
    return over, task.result()
