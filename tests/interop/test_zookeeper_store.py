"""The store over a real ZooKeeper: among our own brokers, and together with a Kafka 3.9.1."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

import cordwood
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.client.zookeeper_client import ZooKeeperClient
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.cluster.zookeeper.store.metadata_event import (
    ConfigChanged,
    MetadataEvent,
    SessionExpired,
)
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.core.errors import DuplicateBrokerRegistrationError, StaleControllerEpochError
from cordwood.core.ports import Worker
from cordwood.core.system import SystemClock, SystemRandom, ThreadWorker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import make_uuid
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.patience import wait_for_result
from tests.interop.kafka_harness.zookeepers import KazooKeeper, RunningZooKeeper

pytestmark = pytest.mark.timeout(600)

T = TypeVar("T")


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = ThreadWorker()
    yield worker
    worker.close()


def registration(broker_id: int) -> BrokerRegistration:
    endpoint = BrokerEndpoint("PLAINTEXT", "127.0.0.1", 1)
    return BrokerRegistration(broker_id=broker_id, endpoints=(endpoint,), rack="r7")


def partition(topic: str, number: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


async def until(events: ZooKeeperStore, wanted: Callable[[MetadataEvent], bool]) -> MetadataEvent:
    """Wait for an event."""
    while not wanted(event := await events.events.next()):
        pass
    return event


async def until_result(look: Callable[[], Awaitable[T]], is_wanted: Callable[[T], bool]) -> T:
    """Repeat a request to ZooKeeper until its result is the wanted one."""
    while not is_wanted(result := await look()):
        pass
    return result


class OwnCluster:
    """Stores below a root of their own."""

    def __init__(self, keeper: KazooKeeper) -> None:
        self.keeper = keeper
        self.clients = list[ZooKeeperClient]()

    async def store(self) -> ZooKeeperStore:
        client = await self.keeper.client()
        self.clients.append(client)
        store = ZooKeeperStore(client, SystemClock())
        await store.start()
        return store


def play(
    zookeeper: RunningZooKeeper, worker: Worker, scene: Callable[[OwnCluster], Awaitable[None]]
) -> None:
    """Run a scene below a root of its own."""

    async def run() -> None:
        keeper = KazooKeeper(zookeeper, worker)
        await keeper.start()
        try:
            await scene(OwnCluster(keeper))
        finally:
            await keeper.close()

    asyncio.run(run())


def test_two_brokers_fight_for_the_controller(zookeeper: RunningZooKeeper, worker: Worker) -> None:
    async def scene(cluster: OwnCluster) -> None:
        stores = [await cluster.store(), await cluster.store()]
        for epoch in range(1, 6):
            guards = await asyncio.gather(
                *(store.election.elect(broker_id) for broker_id, store in enumerate(stores))
            )
            (winner,) = [each for each, guard in enumerate(guards) if guard is not None]
            guard = guards[winner]
            assert guard == ControllerGuard(epoch, epoch)
            assert await stores[1 - winner].election.controller() == winner
            await stores[winner].election.resign(guard)
            with pytest.raises(StaleControllerEpochError):
                await stores[winner].administration.drop_elections(
                    ControllerGuard(epoch - 1, epoch - 1)
                )

    play(zookeeper, worker, scene)


def test_broker_returns_after_its_session(zookeeper: RunningZooKeeper, worker: Worker) -> None:
    async def scene(cluster: OwnCluster) -> None:
        store, other = await cluster.store(), await cluster.store()
        epoch = await store.brokers.register(registration(7))
        guard = await store.election.elect(7)
        assert guard is not None
        with pytest.raises(DuplicateBrokerRegistrationError, match="broker id 7"):
            await other.brokers.register(registration(7))

        await cluster.keeper.expire(cluster.clients[0])
        await until(store, lambda event: event == SessionExpired())
        await store.start()

        assert await store.brokers.register(registration(7)) > epoch
        again = await store.election.elect(7)
        assert again == ControllerGuard(2, 2)
        with pytest.raises(StaleControllerEpochError):
            await store.notifications.drop_isr_changes([1], guard)

    play(zookeeper, worker, scene)


def test_thousand_leaderships_are_written_in_pipelines(
    zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    async def scene(cluster: OwnCluster) -> None:
        store = await cluster.store()
        guard = await store.election.elect(1)
        assert guard is not None
        assignment = StoredAssignment(
            make_uuid(SystemRandom()), {each: ReplicaAssignment((1,)) for each in range(1000)}
        )
        await store.topics.create("many", assignment, configs={})
        partitions = [partition("many", each) for each in range(1000)]
        first = {each: Leadership.first((1, 2), controller_epoch=1) for each in partitions}

        created = await store.leaderships.create(first, guard)
        assert created.written == first
        second = {each: first[each].next_epoch(leader=2, isr=(2,)) for each in partitions}
        written = (await store.leaderships.write(second, guard)).written
        assert await store.leaderships.read(partitions) == written
        assert {each.partition_epoch for each in written.values()} == {1}
        await store.topics.delete("many", guard)
        assert await store.topics.names() == []

    play(zookeeper, worker, scene)


# -- together with Kafka


def with_kafka(
    broker39: Broker,
    zookeeper: RunningZooKeeper,
    worker: Worker,
    scene: Callable[[ZooKeeperStore], Awaitable[None]],
) -> None:
    """Run a scene with a store of the cluster of a running Kafka, which is its controller."""

    async def run() -> None:
        client = KazooKeeper(zookeeper, worker).direct("/kafka")
        store = ZooKeeperStore(client, SystemClock())
        await store.start()
        try:
            await scene(store)
        finally:
            await store.close()

    asyncio.run(run())


def test_kafka_lists_a_broker_that_we_register(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    def listed() -> list[tuple[int, str | None]]:
        with cordwood.Admin(broker39.bootstrap) as admin:
            brokers = admin.describe_cluster().brokers
            return sorted((each.node_id, each.rack) for each in brokers)

    async def scene(store: ZooKeeperStore) -> None:
        epoch = await store.brokers.register(registration(7))
        live = await store.brokers.live()
        assert [(each.broker_id, each.rack) for each in live] == [(1, "r1"), (7, "r7")]
        assert live[1].epoch == epoch > live[0].epoch
        assert await store.election.elect(7) is None
        assert await store.election.controller() == 1
        await asyncio.to_thread(wait_for_result, listed, [(1, "r1"), (7, "r7")])

    with_kafka(broker39, zookeeper, worker, scene)


def test_kafka_leads_and_deletes_a_topic_that_we_create(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    async def scene(store: ZooKeeperStore) -> None:
        topic_id = make_uuid(SystemRandom())
        assignment = StoredAssignment(topic_id, {each: ReplicaAssignment((1,)) for each in (0, 1)})
        await store.topics.create("ours", assignment, configs={"retention.ms": "1000"})
        partitions = [partition("ours", each) for each in (0, 1)]

        leaderships = await until_result(
            lambda: store.leaderships.read(partitions), lambda found: len(found) == 2
        )
        epoch = next(iter(leaderships.values())).controller_epoch
        assert [*leaderships.values()] == [Leadership(1, 0, (1,), controller_epoch=epoch)] * 2
        await store.topics.request_deletion("ours")
        await until_result(store.topics.names, lambda names: "ours" not in names)
        await until_result(store.administration.deletions, lambda topics: not topics)
        assert await store.configs.entities("topics") == [
            each for each in await store.configs.entities("topics") if each.name != "ours"
        ]

    with_kafka(broker39, zookeeper, worker, scene)


def test_changes_by_kafka_are_reported(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    entities = (ConfigEntity("topics", "reported"),)

    def alter() -> None:
        with cordwood.Admin(broker39.bootstrap) as admin:
            admin.alter_configs(("topic", "reported"), change={"retention.ms": "2000"})

    async def scene(store: ZooKeeperStore) -> None:
        store.events.follow(Subject.TOPICS, Subject.CONFIGS)
        await asyncio.to_thread(broker39.create_topics, {"reported": {}})
        names = set[str]()
        while "reported" not in names:
            await store.events.next()
            names = {*await store.topics.names()}
        await asyncio.to_thread(alter)
        await until(store, lambda event: event == ConfigChanged(entities))
        assert await store.configs.read(*entities) == {"retention.ms": "2000"}

    with_kafka(broker39, zookeeper, worker, scene)


def test_cluster_id_and_producer_ids_are_shared_with_kafka(
    broker39: Broker, zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    def described() -> str:
        with cordwood.Admin(broker39.bootstrap) as admin:
            return admin.describe_cluster().cluster_id

    def draw() -> str:
        raise AssertionError("the cluster has an id")

    async def scene(store: ZooKeeperStore) -> None:
        assert await store.facts.cluster_id(draw) == await asyncio.to_thread(described)
        first, second = [await store.facts.claim_producer_ids(7) for _ in range(2)]
        assert second.start == first.stop

    with_kafka(broker39, zookeeper, worker, scene)
