"""Brokers whose partition is copied by real fetchers, between real logs over memory files.

The controller and its states are those of `replica_world`. Requests and responses are lost or late,
by chance; the worker of each broker runs its calls at any later step. A broker that crashes keeps
its log, as after kill -9, or loses the end of it if another in-sync replica lives.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from cordwood.broker.handlers.fetch import fetch
from cordwood.broker.handlers.offsets import list_offsets, offset_for_leader_epoch
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.metadata.replica_changes import ReplicaChange, ReplicaChangeKind
from cordwood.broker.partitions.fetched_records import FetchedRecords
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import PartitionAppendResult
from cordwood.broker.replication.hosted_replicas import HostedReplicas
from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.fetchers.fetch_counts import FetchCounts
from cordwood.cluster.fetchers.fetcher_settings import FetcherSettings
from cordwood.cluster.fetchers.remote_leader import FetchingBroker
from cordwood.cluster.fetchers.replica_fetcher_manager import (
    LeaderEndpoint,
    ReplicaFetcherManager,
)
from cordwood.cluster.fetchers.replica_fetcher_task import FetcherParts
from cordwood.cluster.partition.alter_partition_manager import SubmittedProposal
from cordwood.cluster.partition.in_sync_replicas import AlteredIsr
from cordwood.cluster.partition.leader import LagCheck
from cordwood.core.address import Address
from cordwood.core.errors import KafkaError, NetworkError
from cordwood.core.ports import Pending
from cordwood.protocol.messages.fetch import FetchRequest, FetchResponse
from cordwood.protocol.messages.list_offsets import ListOffsetsRequest
from cordwood.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from cordwood.protocol.schema import NEWEST, Request, Response
from cordwood.storage.files.header_scan import headers
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import BrokerHarness, ClusterPlace
from tests.unit.cluster.partition.replica_world import NO_LEADER, ControllerModel
from tests.unit.storage.log_samples import batch
from tests.unit.storage.manager_samples import ORDERS_ID, HeldWorker, LogManagerHarness, partition

R = TypeVar("R", bound=Response)

MAX_LAG_MS: Final = 30_000
ORDERS: Final = partition()
CONFIG: Final = LogConfig(segment_bytes=3 * len(batch()), segment_index_bytes=1200)
SETTINGS: Final = FetcherSettings(backoff_ms=1_000, max_bytes=5 * len(batch()))
HANDLERS: Final[Mapping[type[Request], Callable[..., Awaitable[Response]]]] = {
    FetchRequest: fetch,
    ListOffsetsRequest: list_offsets,
    OffsetForLeaderEpochRequest: offset_for_leader_epoch,
}


class WaitingProposal(NamedTuple):
    """A proposal without an answer."""

    submitted: SubmittedProposal
    answered: Callable[[AlteredIsr | int], object]


class WaitingAppend(NamedTuple):
    """An append that is not acknowledged yet."""

    value: str
    pending: Pending[PartitionAppendResult]


class RunningBroker:
    """One life of a broker: it ends with a crash."""

    def __init__(self, cluster: "ReplicaCluster", node: int, storage: LogManagerHarness) -> None:
        self.node = node
        self.cluster = cluster
        self.is_running = True
        self.worker = HeldWorker(holds_files=True)
        self.waiting: list[WaitingAppend] = []
        self.proposal: WaitingProposal | None = None
        #: The records that the next life will not have.
        self.lost_records = 0
        self.broker_epoch = cluster.controller.registered.get(node, -1)
        place = ClusterPlace(node, time=cluster.time, isr=self, storage=storage)
        self.harness = BrokerHarness(worker=self.worker, place=place)
        self.partitions = self.harness.broker.partitions
        self.fetchers = ReplicaFetcherManager(
            FetchingBroker(node, lambda: self.broker_epoch),
            MemoryNetwork(cluster, self),
            SETTINGS,
            FetcherParts(
                HostedReplicas(self.partitions),
                ClientRuntime(cluster.time, cluster.time, SeededRandom(node)),
                FetchCounts(),
                cluster.events.append,
                self.harness.broker.throttles.follower,
            ),
        )

    @property
    def log(self) -> Log:
        return self.harness.manager.logs[ORDERS]

    @property
    def partition(self) -> Partition | None:
        try:
            return self.partitions.get("orders", 0)
        except KafkaError:
            return None

    # -- the port `InSyncReplicas`

    def lag_check(self, leader_end: int) -> LagCheck:
        cluster = self.cluster
        return LagCheck(
            cluster.time.monotonic_ms(), leader_end, MAX_LAG_MS, cluster.controller.registered
        )

    def submit(
        self, proposal: SubmittedProposal, answered: Callable[[AlteredIsr | int], object]
    ) -> None:
        self.proposal = WaitingProposal(proposal, answered)


class MemoryNetwork:
    """The channels of one broker; a channel reaches the present life of another one."""

    def __init__(self, cluster: "ReplicaCluster", sender: RunningBroker) -> None:
        self._cluster = cluster
        self._sender = sender

    def open(self, address: Address, *, client_id: str) -> "MemoryLink":
        assert client_id
        return MemoryLink(self._cluster, self._sender, address.port)


class MemoryLink:
    """A channel to one broker."""

    def __init__(self, cluster: "ReplicaCluster", sender: RunningBroker, receiver: int) -> None:
        self._cluster = cluster
        self._sender = sender
        self._receiver = receiver
        self._is_closed = False

    async def version(self, kind: type[Request], *, timeout_ms: float) -> int:
        return kind.__schema__.versions[1]

    async def send(
        self, request: Request, kind: type[R], *, timeout_ms: float, most_version: int = NEWEST
    ) -> R:
        assert timeout_ms
        receiver = self._cluster.brokers[self._receiver]
        await self._travel(receiver)
        version = min(most_version, type(request).__schema__.versions[1])
        harness = receiver.harness
        response = await HANDLERS[type(request)](harness.broker, harness.context(version), request)
        if isinstance(response, FetchResponse):
            _read_records(response)
        assert isinstance(response, kind)
        await self._travel(receiver)
        return response

    async def _travel(self, receiver: RunningBroker) -> None:
        """Take a while; the request or the response may be lost, also by a crash."""
        chance = self._cluster.chance
        for _ in range(chance.below(4)):
            await turns(1)
        is_lost = self._cluster.is_lossy and chance.below(12) == 0
        if is_lost or self._is_closed or not receiver.is_running or not self._sender.is_running:
            self._cluster.counts["lost"] += 1
            raise NetworkError("lost")

    def close(self) -> None:
        self._is_closed = True


def _read_records(response: FetchResponse) -> None:
    """Replace ranges of files by their bytes, as on the wire."""
    for topic in response.responses:
        for each in topic.partitions:
            if isinstance(each.records, FetchedRecords):
                records = each.records
                each.records = bytearray(records.read())
                records.release()


class ReplicaCluster:
    """Brokers 0, 1, … with a replica each; actions run in one loop."""

    def __init__(self, size: int, chance: SeededRandom) -> None:
        self.chance = chance
        self.counts = Counter[str]()
        self.events: list[str] = []
        self.time = VirtualClock()
        self.is_lossy = True
        self.controller = ControllerModel(size, self.counts, checks_broker_epochs=True)
        self._written = 0
        self._acknowledged = dict[int, str]()
        self.brokers = [self._new_broker(each) for each in range(size)]
        for each in self.brokers:
            log_creation.create(each.harness.manager, ORDERS, topic_id=ORDERS_ID)

    def _new_broker(self, node: int) -> RunningBroker:
        return RunningBroker(self, node, LogManagerHarness(config=CONFIG))

    async def begin(self) -> None:
        """Let all brokers take their first roles."""
        for each in range(len(self.brokers)):
            await self.deliver(each)

    async def act(self, action: str, number: int) -> None:
        """Perform one action on a broker that the number chooses."""
        node = number % len(self.brokers)
        await ACTIONS[action](self, node)
        await turns(self.chance.below(6))
        for each in self.brokers:
            if self.chance.below(2):
                each.worker.go_on()
        await turns(self.chance.below(6))
        self._acknowledge()

    # -- actions

    async def append(self, _: int) -> None:
        """Append on each broker that leads, or has not been notified of a later leader."""
        for broker in self.brokers:
            if not broker.is_running or broker.partition is None:
                continue
            self._written += 1
            value = f"record {self._written}"
            try:
                pending = broker.partition.append(memoryview(batch(value=value.encode())))
            except KafkaError:
                continue
            broker.waiting.append(WaitingAppend(value, pending))

    async def wait(self, _: int) -> None:
        """Let time pass that ends long polls and delays."""
        self.time.advance(ms=700)

    async def wait_long(self, _: int) -> None:
        """Let time pass after which a follower lags."""
        self.time.advance(ms=20_000)
        for each in self.brokers:
            if each.is_running and each.partition is not None:
                each.partition.shrink_isr()

    async def deliver(self, node: int) -> None:
        """Send the state of the partition to a broker."""
        broker, state = self.brokers[node], self.controller.state
        if not broker.is_running or node not in self.controller.registered:
            return
        known = -1 if broker.partition is None else broker.partition.leader_epoch
        if state.leader_epoch <= known or state.leader == NO_LEADER:
            return
        image = PartitionImage(
            tuple(range(len(self.brokers))),
            state.isr,
            state.leader,
            state.leader_epoch,
            state.partition_epoch,
        )
        broker.fetchers.stop_following([ORDERS])
        broker.partitions.apply(
            ReplicaChange(ReplicaChangeKind.NEW_ROLE, "orders", ORDERS_ID, 0, image)
        )
        broker.proposal = None
        if state.leader == node:
            self.counts["elections"] += 1
            return
        self._check_role(broker)
        leader = LeaderEndpoint(state.leader, Address("broker", state.leader))
        broker.fetchers.follow(ORDERS, ORDERS_ID, leader=leader, leader_epoch=state.leader_epoch)

    def _check_role(self, broker: RunningBroker) -> None:
        assert broker.partition is not None
        broker.partition.followed(broker.partition.leader_epoch)

    async def decide(self, node: int) -> None:
        """Answer the proposal of a broker; the answer may be lost, and the proposal sent again."""
        broker = self.brokers[node]
        if broker.proposal is None or not broker.is_running:
            return
        submitted, answered = broker.proposal
        answer = self.controller.decide(node, submitted.proposal)
        if self.is_lossy and self.chance.below(4) == 0:
            return
        broker.proposal = None
        answered(answer)

    async def expire(self, node: int) -> None:
        """Lose the session of a broker, which may still run."""
        if len(self.controller.registered) > 1:
            self.controller.expire(node)

    async def register(self, node: int) -> None:
        """Register a running broker again."""
        broker = self.brokers[node]
        if broker.is_running and node not in self.controller.registered:
            broker.broker_epoch = self.controller.register(node)
            await self.deliver(node)

    async def move(self, node: int) -> None:
        """Move the leadership to an in-sync replica that is alive."""
        self.controller.move(node)

    async def crash(self, node: int) -> None:
        """Kill a broker; another in-sync replica lives if it loses what was not synced."""
        broker = self.brokers[node]
        if not broker.is_running or not self.is_lossy:
            return
        broker.is_running = False
        broker.harness.connection.stopping.fire()
        await broker.fetchers.stop()
        self.counts["crashes"] += 1
        broker.harness.storage.files.end_process()
        others = (each for each in self.controller.state.isr if each != node)
        may_lose = any(
            each in self.controller.registered and self.brokers[each].is_running for each in others
        )
        if may_lose and self.chance.below(2):
            self.controller.expire(node)
            broker.lost_records = 1 + self.chance.below(4)
            self.counts["lost ends"] += 1

    async def restart(self, node: int) -> None:
        """Start a broker that has crashed; the controller has lost it before it registers."""
        broker = self.brokers[node]
        if broker.is_running:
            return
        self.controller.expire(node)
        self.brokers[node] = started = RunningBroker(self, node, broker.harness.storage)
        lose_end(started.log, broker.lost_records)
        await self.register(node)

    def _acknowledge(self) -> None:
        for broker in self.brokers:
            for each in [*broker.waiting] if broker.is_running else ():
                if not each.pending.done():
                    continue
                broker.waiting.remove(each)
                if each.pending.exception() is None:
                    self._acknowledged[each.pending.result().result.first_offset] = each.value
                    self.counts["acknowledged"] += 1

    # -- the end of a history

    async def heal(self) -> None:
        """End all faults, and let the replicas catch up."""
        self.is_lossy = False
        nodes = range(len(self.brokers))
        for _ in range(40):
            for node in nodes:
                await self.restart(node)
                await self.register(node)
                await self.deliver(node)
                await self.decide(node)
            await self.wait(0)
            for _ in range(6):
                for node in nodes:
                    self.brokers[node].worker.go_on()
                await turns(8)
        self._acknowledge()

    async def stop(self) -> None:
        for each in self.brokers:
            await each.fetchers.stop()

    # -- invariants

    def check(self) -> None:
        """Raise AssertionError if a record is lost, or logs differ below both high watermarks."""
        logs = {each.node: self._values(each) for each in self.brokers if each.is_running}
        for node in self.controller.state.isr:
            for offset, value in self._acknowledged.items() if node in logs else ():
                assert logs[node].get(offset) == value, f"{value} is not at {offset} on {node}"
        for node, values in logs.items():
            for other, others in logs.items():
                end = min(self._high_watermark(node), self._high_watermark(other))
                own = {offset: value for offset, value in values.items() if offset < end}
                theirs = {offset: value for offset, value in others.items() if offset < end}
                assert own == theirs, f"brokers {node} and {other} differ below {end}"

    def check_equal(self) -> None:
        """Raise AssertionError unless all logs are equal, after `heal`."""
        state = self.controller.state
        assert {*state.isr} == {*range(len(self.brokers))}, f"{state} lacks a replica"
        logs = [self._values(each) for each in self.brokers]
        assert all(each == logs[0] for each in logs)
        high_watermarks = [self._high_watermark(each.node) for each in self.brokers]
        assert {*high_watermarks} == {len(logs[0])}, f"{high_watermarks} of {len(logs[0])} records"

    def _high_watermark(self, node: int) -> int:
        return self.brokers[node].log.bounds.high_watermark

    def _values(self, broker: RunningBroker) -> dict[int, str]:
        """Return the records of a log: each batch has one."""
        values = dict[int, str]()
        for segment in broker.log.segments:
            for header in headers(segment.files.pread, 0, segment.size):
                data = bytes(segment.view.data_of(header))
                begin = data.index(b"record ")
                values[header.base_offset] = data[begin:].rstrip(b"\0").decode()
        return values


def lose_end(log: Log, records: int) -> None:
    """Lose the last records of a log."""
    log.truncate_to(max(0, log.bounds.log_end - records))


async def turns(count: int) -> None:
    """Let every task run as far as it can, this many times."""
    loop = asyncio.get_running_loop()
    for _ in range(count):
        passed = asyncio.Event()
        loop.call_soon(passed.set)
        await passed.wait()


Action = Callable[[ReplicaCluster, int], Awaitable[None]]
ACTIONS: Final[Mapping[str, Action]] = {
    "append": ReplicaCluster.append,
    "wait": ReplicaCluster.wait,
    "wait_long": ReplicaCluster.wait_long,
    "deliver": ReplicaCluster.deliver,
    "decide": ReplicaCluster.decide,
    "expire": ReplicaCluster.expire,
    "register": ReplicaCluster.register,
    "move": ReplicaCluster.move,
    "crash": ReplicaCluster.crash,
    "restart": ReplicaCluster.restart,
}
#: The actions with their frequencies.
FREQUENT: Final = (
    *ACTIONS,
    *("append", "deliver", "decide") * 5,
    *("wait",) * 8,
    *("restart", "register") * 3,
)
