"""Cluster in memory: ZooKeeper, and brokers that each may be its controller, in virtual time."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.cluster.active_controller.controller_host import (
    BrokerEvent,
    ControllerReport,
    RoleBegun,
    RoleEnded,
)
from cordwood.cluster.active_controller.controller_settings import ActiveControllerSettings
from cordwood.cluster.controller.context.cluster_context import ControllerSettings
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError
from cordwood.cluster.zookeeper.store.metadata_event import SessionExpired
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration
from cordwood.cluster.zookeeper.znodes.partition_list_znodes import (
    encode_partitions,
    encode_reassignments,
)
from cordwood.core.address import Address
from cordwood.core.ports import Lane
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import make_uuid
from cordwood.protocol.schema import Request, Response
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.seeded_random import SeededRandom
from tests.simulation.world import World
from tests.unit.cluster.active_controller.memory_channels import MemoryChannels, Peer
from tests.unit.cluster.controller.broker_model import BrokerModel
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld

T = TypeVar("T")


def partition(topic: str, number: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


class SlowWorker(InlineWorker):
    """A worker that counts its calls, whose results are there after a delay."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.calls = 0
        self.delay_ms = 0.0
        self._world = world

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        self.calls += 1
        if not self.delay_ms:
            return super().submit(call, lane=lane)
        late = Future[T]()
        self._world.after(self.delay_ms, lambda: _finish(late, call))
        return late


def _finish(late: Future[T], call: Callable[[], T]) -> None:
    try:
        late.set_result(call())
    except Exception as error:  # noqa: BLE001 - the result of the call
        late.set_exception(error)


class Host:
    """A broker: its registration, its replicas, and the controller in it."""

    def __init__(self, cluster: "ControllerWorld", broker_id: int) -> None:
        self.cluster = cluster
        self.broker_id = broker_id
        self.address = Address(f"host{broker_id}", 9092)
        self.model = BrokerModel(broker_id, 0)
        self.peer = Peer(self._answer)
        self.events = list[BrokerEvent]()
        self.reports = list[ControllerReport]()
        self.controller_ids = list[int | None]()
        self.allows_unclean = False
        #: Whether a new session begins as soon as one has ended.
        self.returns = True
        self.is_running = False
        self._connect()

    def _connect(self) -> None:
        world, self.worker = self.cluster.keeper.world, SlowWorker(self.cluster.keeper.world)
        self.member = Member(self.cluster.keeper, self.broker_id)
        self.controller = ActiveController(
            self.member.store,
            self.cluster.channels,
            self.cluster.settings(self.broker_id),
            ClientRuntime(world.clock, world.clock, SeededRandom(self.broker_id)),
            worker=self.worker,
            host=self,
        )

    @property
    def roles(self) -> list[str]:
        """The roles that began and ended."""
        return [
            f"{'began' if isinstance(each, RoleBegun) else 'ended'} {each.epoch}"
            for each in self.reports
            if isinstance(each, RoleBegun | RoleEnded)
        ]

    def _answer(self, request: Request) -> Response:
        return self.model.answer(request)

    # The port

    def is_unclean_election_enabled(self) -> bool:
        return self.allows_unclean

    def on_controller_changed(self, controller_id: int | None) -> None:
        self.controller_ids.append(controller_id)

    def on_event(self, event: BrokerEvent) -> None:
        self.events.append(event)
        if event == SessionExpired() and self.returns:
            self.cluster.keeper.world.begin(self._begin_session())

    def on_report(self, report: ControllerReport) -> None:
        self.reports.append(report)

    # The life of a broker

    async def start(self) -> None:
        """Start the process, with an empty disk."""
        self.is_running = True
        await self.member.store.start()
        await self.member.store.brokers.until_unregistered(self.broker_id)
        await self.register()
        self.cluster.channels.peers[self.address] = self.peer
        self.peer.is_up = True
        self.controller.start()

    async def register(self) -> None:
        endpoint = BrokerEndpoint("PLAINTEXT", self.address.host, self.address.port)
        registration = BrokerRegistration(broker_id=self.broker_id, endpoints=(endpoint,))
        self.model.epoch = await self.member.store.brokers.register(registration)

    async def crash(self) -> None:
        """End the process; its session ends later."""
        self.peer.is_up = self.is_running = False
        self.member.client.cut()
        await self.controller.stop()

    async def stop(self) -> None:
        """End the process and its session."""
        self.peer.is_up = self.is_running = False
        await self.controller.stop()
        await self.member.store.close()

    async def restart(self) -> None:
        """Start the process again, with an empty disk, once its former session has ended."""
        self.model = BrokerModel(self.broker_id, 0)
        self._connect()
        await self.start()

    async def _begin_session(self) -> None:
        # A session that ends meanwhile is followed by the next one.
        with suppress(SessionExpiredError):
            await self.member.store.start()
            await self.register()
            self.controller.begin_session()


class ControllerWorld:
    """ZooKeeper, the network and the brokers."""

    def __init__(self, seed: int = 0) -> None:
        self.keeper = StoreWorld(seed)
        self.channels = MemoryChannels(self.keeper.world)
        self.hosts = dict[int, Host]()
        self.rebalance_interval_ms: float | None = None
        self._administrator: Member | None = None
        self._ids = SeededRandom(seed)

    def settings(self, broker_id: int) -> ActiveControllerSettings:
        return ActiveControllerSettings(
            decisions=ControllerSettings(controller_id=broker_id),
            is_rebalance_enabled=self.rebalance_interval_ms is not None,
            rebalance_interval_ms=self.rebalance_interval_ms or 300_000,
        )

    async def start(self, *broker_ids: int) -> None:
        """Start brokers, and wait for a controller."""
        for each in broker_ids:
            self.hosts[each] = Host(self, each)
            await self.hosts[each].start()
        await self.settle()

    @property
    def controller(self) -> Host:
        """The one controller."""
        (active,) = [each for each in self.hosts.values() if each.controller.is_active]
        return active

    @property
    def others(self) -> list[Host]:
        """The brokers that are not the controller."""
        return [each for each in self.hosts.values() if not each.controller.is_active]

    async def settle(self, ms: float = 1_000) -> None:
        await self.keeper.settle(ms)

    async def create(self, topic: str, *replicas: tuple[int, ...]) -> None:
        """Create a topic in the store, as an administrator does."""
        assignments = {number: ReplicaAssignment(each) for number, each in enumerate(replicas)}
        stored = StoredAssignment(make_uuid(self._ids), assignments)
        await (await self.store()).topics.create(topic, stored, configs={})

    async def request_reassignment(self, wanted: Mapping[TopicPartition, tuple[int, ...]]) -> None:
        """Leave a request for a reassignment, as Kafka's tools before 2.4 do."""
        await self.store()
        assert self._administrator is not None
        data = encode_reassignments(wanted)
        await self._administrator.client.create("/admin/reassign_partitions", data)

    async def request_election(self, partitions: Iterable[TopicPartition]) -> None:
        """Leave a request for preferred leaders, as Kafka's tools before 2.4 do."""
        await self.store()
        assert self._administrator is not None
        data = encode_partitions(partitions)
        await self._administrator.client.create("/admin/preferred_replica_election", data)

    async def delete(self, path: str) -> None:
        """Remove a node, as an administrator does."""
        await self.store()
        assert self._administrator is not None
        await self._administrator.client.delete(path)

    async def write(self, path: str, data: bytes) -> None:
        """Replace the data of a node, as an administrator does."""
        await self.store()
        assert self._administrator is not None
        await self._administrator.client.set(path, data)

    async def leadership(self, topic: str, number: int = 0) -> Leadership | None:
        """Return the stored leadership of a partition."""
        name = partition(topic, number)
        return (await (await self.store()).leaderships.read([name])).get(name)

    async def store(self) -> ZooKeeperStore:
        """Return a store of an administrator, who is not a broker."""
        if self._administrator is None:
            self._administrator = await self.keeper.member(99)
        return self._administrator.store


def play(scene: Callable[[ControllerWorld], Awaitable[T]], *, seed: int = 0) -> T:
    """Run a scene in a world of its own."""
    world = ControllerWorld(seed)
    return world.keeper.run(scene(world))
