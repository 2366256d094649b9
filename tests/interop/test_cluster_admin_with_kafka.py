"""Topics, configurations and producer ids of a cluster that our broker shares with Kafka 3.9.1.

Kafka is the controller; our broker is not registered in it, except for producer ids.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final

import pytest

import cordwood
from cordwood.broker.cluster_admin.cluster_config_changes import ClusterConfigChanges
from cordwood.broker.cluster_admin.cluster_topic_manager import ClusterTopicManager
from cordwood.broker.cluster_admin.dynamic_config_manager import DynamicConfigManager
from cordwood.broker.cluster_admin.producer_id_blocks import ProducerIdBlocks
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import ALL_BROKERS, topic_resource
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import BrokerImage, ClusterImage, TopicImage
from cordwood.broker.topics.topic_planning import NewPartitions, PlannedTopic
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ClientSettings
from cordwood.cluster.channels.connected_channels import ConnectedChannels
from cordwood.cluster.zookeeper.store.metadata_event import ConfigChanged
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntities, ConfigEntity
from cordwood.core.address import Address
from cordwood.core.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError
from cordwood.core.ports import Worker
from cordwood.core.system import SystemClock, SystemRandom, ThreadWorker
from cordwood.core.uuids import format_uuid
from cordwood.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.patience import PATIENCE_S, wait_for_result
from tests.interop.kafka_harness.zookeepers import KazooKeeper, RunningZooKeeper
from tests.interop.test_zookeeper_store import registration, until

pytestmark = pytest.mark.timeout(600)

OURS: Final = 7


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = ThreadWorker()
    yield worker
    worker.close()


class OurBroker:
    """The administration of broker 7; Kafka is the only live broker in its image."""

    def __init__(self, store: ZooKeeperStore, worker: Worker) -> None:
        self.store = store
        self.configs = BrokerConfigs(OURS, [])
        self.metadata = MetadataCache(
            ClusterImage(cluster_id="c", controller_id=1, brokers={1: BrokerImage(1, {}, "r1")})
        )
        self.events = list[str]()
        self.manager = DynamicConfigManager(
            store.configs, self.configs, worker, on_event=self.events.append
        )
        self.config_changes = ClusterConfigChanges(
            self.manager, self.configs, self.metadata, worker
        )
        self.topics = ClusterTopicManager(
            store.topics,
            configs=self.configs,
            metadata=self.metadata,
            random=SystemRandom(),
            worker=worker,
            is_controller=lambda: True,
        )

    async def create(self, name: str, partitions: int, **configs: str) -> TopicImage:
        """Create a topic, which the image has then."""
        texts = [(key.replace("_", "."), text) for key, text in configs.items()]
        (outcome,) = await self.topics.create(
            [NewTopic(name=name, partitions=partitions, configs=texts)]
        )
        assert isinstance(outcome, PlannedTopic)
        self.metadata.publish(self.metadata.image.with_topic(outcome.image))
        return outcome.image

    async def until_changed(self, entities: ConfigEntities) -> None:
        """Apply changes of configurations until one of an entity."""
        await until(self.store, lambda event: event == ConfigChanged(entities))
        await self.manager.apply_change(entities)


def play(
    broker39: Broker,
    zookeeper: RunningZooKeeper,
    worker: Worker,
    scene: Callable[[OurBroker], Awaitable[None]],
) -> None:
    """Run a scene in the cluster of a running Kafka."""
    assert broker39.bootstrap

    async def run() -> None:
        store = ZooKeeperStore(KazooKeeper(zookeeper, worker).direct("/kafka"), SystemClock())
        await store.start()
        try:
            async with asyncio.timeout(2 * PATIENCE_S):
                await scene(OurBroker(store, worker))
        finally:
            await store.close()

    asyncio.run(run())


def leaders(broker: Broker, topic: str) -> dict[int, int]:
    """Return the leaders of a topic's partitions, as Kafka serves them; empty without it."""
    with cordwood.Admin(broker.bootstrap) as admin:
        if topic not in admin.list_topics():
            return {}
        try:
            (described,) = admin.describe_topics([topic])
        except UnknownTopicOrPartitionError:  # it is deleted meanwhile
            return {}
        return {each.partition: each.leader for each in described.partitions}


def altered(broker: Broker, kind: str, name: str, key: str) -> tuple[str | None, str]:
    """Return the value and the source of a setting, as Kafka serves them."""
    with cordwood.Admin(broker.bootstrap) as admin:
        entry = admin.describe_configs((kind, name), keys=[key]).entries[key]
        return entry.value, entry.source


def topic_id(broker: Broker, topic: str) -> str:
    with cordwood.Admin(broker.bootstrap) as admin:
        return admin.describe_topics([topic])[0].topic_id


def delete(broker: Broker, topic: str) -> None:
    with cordwood.Admin(broker.bootstrap) as admin:
        admin.delete_topic(topic)


def alter(broker: Broker, kind: str, name: str, change: Mapping[str, str]) -> None:
    with cordwood.Admin(broker.bootstrap) as admin:
        admin.alter_configs((kind, name), change=change)


def set_to(name: str, value: str) -> ConfigAlteration:
    return ConfigAlteration(name, AlterOperation.SET, value)


def test_kafka_serves_the_topics_that_we_create_grow_and_delete(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    async def scene(ours: OurBroker) -> None:
        def look() -> dict[int, int]:
            return leaders(broker39, "admin-ours")

        topic = await ours.create("admin-ours", 2, retention_ms="1000")
        await asyncio.to_thread(wait_for_result, look, {0: 1, 1: 1})
        known_id = await asyncio.to_thread(topic_id, broker39, "admin-ours")
        assert known_id == format_uuid(topic.topic_id)
        found = await asyncio.to_thread(altered, broker39, "topic", "admin-ours", "retention.ms")
        assert found == ("1000", "topic")

        (grown,) = await ours.topics.grow([NewPartitions("admin-ours", 3)])
        assert isinstance(grown, TopicImage)
        await asyncio.to_thread(wait_for_result, look, {0: 1, 1: 1, 2: 1})

        selection = await ours.topics.delete([TopicReference("admin-ours")])
        assert selection.rejected == []
        await asyncio.to_thread(wait_for_result, look, {})
        # The name is free again, and the configuration is gone with the topic.
        ours.metadata.publish(ours.metadata.image.without_topic("admin-ours"))
        while "admin-ours" in await ours.store.topics.names():
            pass
        await ours.create("admin-ours", 1)
        await asyncio.to_thread(wait_for_result, look, {0: 1})
        found = await asyncio.to_thread(altered, broker39, "topic", "admin-ours", "retention.ms")
        assert found == ("-1", "server.properties")

    play(broker39, zookeeper, worker, scene)


def test_topics_of_kafka_are_ours(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    async def scene(ours: OurBroker) -> None:
        texts = {"retention.ms": "2000"}
        await asyncio.to_thread(broker39.create_topics, {"admin-theirs": texts})
        (outcome,) = await ours.topics.create([NewTopic(name="admin-theirs")])
        assert isinstance(outcome, TopicAlreadyExistsError)
        await ours.manager.load_topics(["admin-theirs"])
        assert ours.configs.config_for("admin-theirs").retention_ms == 2000

        await asyncio.to_thread(delete, broker39, "admin-theirs")
        while "admin-theirs" in await ours.store.topics.names():
            pass
        await ours.create("admin-theirs", 1)
        assert ours.configs.config_for("admin-theirs").retention_ms != 2000

    play(broker39, zookeeper, worker, scene)


def test_kafka_applies_the_configurations_that_we_change(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    async def scene(ours: OurBroker) -> None:
        topic = topic_resource("admin-configs")
        await ours.create("admin-configs", 1)
        changes = [set_to("retention.ms", "3000")]
        await ours.config_changes.alter(topic, changes, validate_only=False)
        found = await asyncio.to_thread(altered, broker39, "topic", "admin-configs", "retention.ms")
        assert found == ("3000", "topic")

        # Kafka describes brokers from memory, so it has been notified.
        cleaners = [set_to("log.cleaner.threads", "2")]
        await ours.config_changes.alter(ALL_BROKERS, cleaners, validate_only=False)
        await asyncio.to_thread(
            wait_for_result,
            lambda: altered(broker39, "broker", "1", "log.cleaner.threads"),
            ("2", "all brokers"),
        )
        await ours.config_changes.replace(ALL_BROKERS, [], validate_only=False)
        await asyncio.to_thread(
            wait_for_result,
            lambda: altered(broker39, "broker", "1", "log.cleaner.threads"),
            ("1", "default"),
        )

    play(broker39, zookeeper, worker, scene)


def test_configurations_that_kafka_changes_are_applied(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    async def scene(ours: OurBroker) -> None:
        await ours.create("admin-notified", 1)
        ours.store.events.follow(Subject.CONFIGS)
        change = {"retention.ms": "4000", "message.downconversion.enable": "false"}
        await asyncio.to_thread(alter, broker39, "topic", "admin-notified", change)
        await ours.until_changed((ConfigEntity("topics", "admin-notified"),))
        assert ours.configs.config_for("admin-notified").retention_ms == 4000

        # A setting of Kafka 3.9 stays stored when we alter another one.
        topic = topic_resource("admin-notified")
        changes = [set_to("segment.ms", "60000")]
        await ours.config_changes.alter(topic, changes, validate_only=False)
        stored = await ours.store.configs.read(ConfigEntity("topics", "admin-notified"))
        assert stored == {**change, "segment.ms": "60000"}

        cleaners = {"log.cleaner.threads": "2"}
        await asyncio.to_thread(alter, broker39, "broker", "", cleaners)
        await ours.until_changed((ConfigEntity("brokers", ""),))
        assert ours.configs.integer("log.cleaner.threads") == 2
        await ours.config_changes.replace(ALL_BROKERS, [], validate_only=False)

    play(broker39, zookeeper, worker, scene)


def test_controller_of_kafka_allocates_our_producer_ids(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    async def scene(ours: OurBroker) -> None:
        epochs = [0, await ours.store.brokers.register(registration(OURS))]
        settings = ClientSettings(bootstrap_servers=(broker39.bootstrap,))
        channels = ConnectedChannels(settings, system_runtime())
        address = Address.parse(broker39.bootstrap, key="test")
        channel = channels.open(address, client_id="broker-7")

        async def send(request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
            return await channel.send(request, AllocateProducerIdsResponse, timeout_ms=30_000)

        def epoch() -> int:
            return epochs.pop(0) if len(epochs) > 1 else epochs[0]

        runtime = system_runtime()
        blocks = ProducerIdBlocks(
            send,
            broker_id=OURS,
            broker_epoch=epoch,
            clock=runtime.clock,
            scheduler=runtime.scheduler,
        )
        found = [await blocks.allocate() for _ in range(2)]
        channel.close()
        assert [len(each) for each in found] == [1000, 1000]
        assert found[0].stop <= found[1].start
        assert len(epochs) == 1

    play(broker39, zookeeper, worker, scene)
