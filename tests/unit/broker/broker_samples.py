"""Brokers for tests, over memory files and in virtual time, without sockets."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import NamedTuple, TypeVar

from cordwood.broker.cluster_admin.topic_purgatory import TopicPurgatory
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.replication_throttles import ReplicationThrottles
from cordwood.broker.coordinators.coordinators import CoordinatorParts, Coordinators
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.loop_turns import LoopTurns, TurnQueue
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import PartitionImage, TopicImage
from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.metadata.producer_id_manager import ProducerIdManager, block_after
from cordwood.broker.metadata.topic_znodes import folders
from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.broker.partitions.fetch_sessions import FetchSessionCache
from cordwood.broker.partitions.fetch_wakes import FetchWakes
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import InSyncReplicas, PartitionResources
from cordwood.broker.peers.peer_channels import OpenPeers, no_peers
from cordwood.broker.replication.future_replica import MoveParts
from cordwood.broker.replication.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from cordwood.broker.services import BrokerFeatures, BrokerServices
from cordwood.broker.topics.config_changes import ConfigChanges
from cordwood.broker.topics.topic_manager import TopicManager
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.ports import Worker
from cordwood.core.producer_id_block import format_block
from cordwood.core.settings import SettingSource
from cordwood.core.types import TopicName
from cordwood.core.uuids import Uuid
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.timestamp_lookups import TimestampLookups
from cordwood.testing.memory_metadata import MemoryMetadata
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.image_samples import cluster, drop, host
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


class ClusterPlace(NamedTuple):
    """The id of a broker, its channels to the others, and what it shares with them.

    A broker that has started again has the storage of its life before.
    """

    node_id: int = 1
    peers: OpenPeers = no_peers
    time: VirtualClock | None = None
    isr: InSyncReplicas | None = None
    storage: LogManagerHarness | None = None


#: The only broker.
ALONE = ClusterPlace()


class BrokerHarness:
    """The services of a broker; its logs and its network have separate virtual clocks."""

    def __init__(
        self,
        config: LogConfig | None = None,
        *,
        worker: Worker | None = None,
        store: MemoryMetadata | None = None,
        given: dict[str, str] | None = None,
        slots: int = 1000,
        place: ClusterPlace = ALONE,
    ) -> None:
        self.storage = place.storage or LogManagerHarness(config=config or LogConfig())
        self.manager = self.storage.load(worker)
        self.flusher = LogFlusher(self.manager)
        self.time = place.time or VirtualClock()
        self.store = store or MemoryMetadata()
        self.store.multi(folders())
        self.configs = BrokerConfigs(
            place.node_id, [SettingSource("server.properties", given or {})]
        )
        self.metadata = MetadataCache(cluster())
        self.resources = self._resources(place)
        self.broker = self._broker(FetchSessionCache(SeededRandom(1), slots), place.peers)
        self.connection = ConnectionInfo(
            id=1, host="::1", port=1, listener="PLAINTEXT", is_secure=False
        )

    def _resources(self, place: ClusterPlace) -> PartitionResources:
        return resources(self.manager)._replace(
            node_id=place.node_id,
            flusher=self.flusher,
            clock=self.time,
            scheduler=self.time,
            isr=place.isr,
        )

    def _broker(self, sessions: FetchSessionCache, peers: OpenPeers) -> BrokerServices:
        configs, metadata, events = self.configs, self.metadata, self.storage.events
        partitions = HostedPartitions(self.resources)
        self.hosting = TopicHosting(self.manager, partitions, events.append)
        self.writer = writer = MetadataWriter(self.store, self.manager.ports.worker)
        self.topics = TopicManager(
            writer,
            configs=configs,
            metadata=metadata,
            hosting=self.hosting,
            random=SeededRandom(2),
        )
        turns = TurnQueue(self.time)
        throttles = ReplicationThrottles(configs, self.time)
        producer_ids = ProducerIdManager(BlockAllocator().take)
        coordinators = Coordinators(
            CoordinatorParts(
                configs=configs,
                metadata=metadata,
                partitions=partitions,
                logs=self.manager,
                producer_ids=producer_ids,
                turns=turns,
                clock=self.time,
                scheduler=self.time,
                peers=peers,
            )
        )
        return BrokerServices(
            clock=self.time,
            scheduler=self.time,
            turns=turns,
            features=BrokerFeatures(),
            configs=configs,
            throttles=throttles,
            config_changes=ConfigChanges(writer, configs, metadata),
            metadata=metadata,
            topic_purgatory=TopicPurgatory(metadata),
            topics=self.topics,
            logs=self.manager,
            timestamp_lookups=TimestampLookups(self.manager),
            partitions=partitions,
            log_dir_moves=self._moves(partitions, throttles),
            sessions=sessions,
            producer_ids=producer_ids,
            coordinators=coordinators,
        )

    def _moves(
        self, partitions: HostedPartitions, throttles: ReplicationThrottles
    ) -> ReplicaAlterLogDirsManager:
        sleep_ms = ClientRuntime(self.time, self.time, SeededRandom(3)).sleep_ms
        parts = MoveParts(self.manager, self.flusher, throttles.log_dirs, sleep_ms, 1 << 20)
        return ReplicaAlterLogDirsManager(
            partitions, parts, threads=2, on_event=self.storage.events.append
        )

    def host(self, *epochs: int, topic: str = ORDERS) -> Partition:
        """Create a topic with a partition for each leader epoch; return the first partition."""
        epochs = epochs or (0,)
        topic_id = ORDERS_ID if topic == ORDERS else type(ORDERS_ID)(topic.encode().ljust(16))
        for index in range(len(epochs)):
            log_creation.create(self.manager, partition(index, topic), topic_id=topic_id)
        host(self.broker.partitions, led_topic(*epochs, topic=topic, topic_id=topic_id))
        for log in self.manager.logs_of(TopicName(topic)):
            log.epoch_file.save()
        return self.broker.partitions.get(topic, 0)

    def drop(self, *epochs: int) -> None:
        """Drop the partitions of the topic that `host` has created."""
        drop(self.broker.partitions, led_topic(*epochs or (0,)))

    def context(self, version: int, *, client_id: str | None = "client") -> RequestContext:
        return RequestContext(-1, version, 1, client_id, self.connection)


def loop_turns() -> LoopTurns:
    """Return the turns of a request for which no time passes."""
    return LoopTurns(TurnQueue(VirtualClock(), call_soon=lambda call: call()))


def resources(manager: LogManager) -> PartitionResources:
    """Return the resources of partitions of broker 1, with a flusher and a clock of their own."""
    time = VirtualClock()
    return PartitionResources(
        node_id=1,
        manager=manager,
        flusher=LogFlusher(manager),
        inspector=PlainInspector,
        clock=time,
        scheduler=time,
        wakes=FetchWakes(manager.options.call_soon),
    )


def led_topic(*epochs: int, topic: str = ORDERS, topic_id: Uuid = ORDERS_ID) -> TopicImage:
    """Return a topic with a partition for each leader epoch, all led by broker 1."""
    states = tuple(PartitionImage((1,), (1,), 1, epoch) for epoch in epochs)
    return TopicImage(topic, topic_id, states)


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
