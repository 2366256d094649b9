"""Three brokers with coordinators for tests, in one process.

Their images and roles are moved by hand, and their logs are copied by hand. Requests between them
are encoded and decoded, and handled at once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from cordwood.broker.handlers.transaction_admin import write_txn_markers
from cordwood.broker.handlers.transactions import add_partitions_to_txn
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.metadata.replica_changes import replica_changes
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_role import Follower
from cordwood.broker.pending_results import wait_for
from cordwood.cluster.fetchers.local_replicas import LeaderBounds
from cordwood.cluster.partition.leader import Leader
from cordwood.core.errors import BrokerNotAvailableError, NetworkError
from cordwood.core.ports import Pending
from cordwood.core.types import NO_LEADER_EPOCH
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from cordwood.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from cordwood.protocol.schema import NEWEST, Request, Response
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from tests.unit.broker.broker_samples import BrokerHarness, ClusterPlace, turns
from tests.unit.broker.coordinators.coordinator_samples import FEW
from tests.unit.broker.image_samples import cluster, topic

if TYPE_CHECKING:
    from cordwood.broker.network.request_context import RequestContext
    from cordwood.broker.services import BrokerServices

T = TypeVar("T")
R = TypeVar("R", bound=Response)

OFFSETS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"
NODES: Final = (1, 2, 3)
#: Topics with their number of partitions; the leader of the first one is broker 1.
TOPICS: Final = MappingProxyType({"orders": 2, OFFSETS: 1, TRANSACTIONS: 1})

_HANDLERS: Final = MappingProxyType(
    {
        WriteTxnMarkersRequest: write_txn_markers,
        AddPartitionsToTxnRequest: add_partitions_to_txn,
    }
)


class HandledChannel:
    """Requests of one broker that another one handles; `versions` are the latest of that one."""

    def __init__(self, brokers: "CoordinatedBrokers", sender: int, target: int) -> None:
        self._brokers = brokers
        self._sender = sender
        self._target = target

    async def send(
        self, request: Request, kind: type[R], *, timeout_ms: float, most_version: int = NEWEST
    ) -> R:
        brokers = self._brokers
        assert timeout_ms == 30_000
        brokers.sent.append((self._sender, self._target, request))
        if {self._sender, self._target} & brokers.unreachable:
            raise NetworkError(f"broker {self._target} cannot be reached")
        version = min(await self.version(type(request), timeout_ms=timeout_ms), most_version)
        handle: Callable[[BrokerServices, RequestContext, Request], Awaitable[Response]]
        handle = _HANDLERS[type(request)]  # type: ignore[assignment]  # by the request's type
        receiver = brokers[self._target]
        received = decode(type(request), joined(encode(request, version)), version)
        response = await handle(receiver.broker, receiver.context(version), received)
        return decode(kind, joined(encode(response, version)), version)

    async def version(self, kind: type[Request], *, timeout_ms: float) -> int:
        newest = kind.__schema__.versions[1]
        return min(newest, self._brokers.versions.get(kind, newest))

    def close(self) -> None:
        """Do nothing: there is no connection."""


class HandledPeers:
    """The channels of one broker, for one purpose."""

    def __init__(self, brokers: "CoordinatedBrokers", sender: int, _: str) -> None:
        self._brokers = brokers
        self._sender = sender

    def channel(self, node_id: int) -> HandledChannel:
        if node_id not in self._brokers[self._sender].metadata.image.brokers:
            raise BrokerNotAvailableError(f"broker {node_id} is not registered")
        return HandledChannel(self._brokers, self._sender, node_id)

    def close(self) -> None:
        """Do nothing, as a channel."""


class CoordinatedBrokers:
    """Three brokers; `image` is that of the controller, which they get by hand."""

    def __init__(self, config: LogConfig | None = None, **given: str) -> None:
        texts = {key.replace("_", "."): text for key, text in given.items()}
        self.sent = list[tuple[int, int, Request]]()
        #: Brokers that exchange neither requests nor records with others.
        self.unreachable = set[int]()
        #: The latest version of a request that the brokers handle, if not the newest.
        self.versions = dict[type[Request], int]()
        self.image = cluster(brokers=len(NODES))
        self._roles = dict.fromkeys(NODES, self.image)
        self._by_id = {
            node_id: BrokerHarness(
                config,
                given={**FEW, **texts},
                place=ClusterPlace(node_id, partial(HandledPeers, self, node_id)),
            )
            for node_id in NODES
        }

    def __getitem__(self, node_id: int) -> BrokerHarness:
        return self._by_id[node_id]

    def partition(self, node_id: int, topic: str, number: int = 0) -> Partition:
        return self[node_id].broker.partitions.get(topic, number)

    def requests_of(self, sender: int, kind: type[Request]) -> list[int]:
        """Return the targets of the requests of one kind from one broker."""
        return [to for by, to, request in self.sent if by == sender and isinstance(request, kind)]

    # -- the controller

    def create(self, name: str, partitions: int) -> None:
        """Create a topic with replicas on all brokers."""
        created = topic(name, partitions, replicas=NODES)
        for node_id in NODES:
            for each in created.names():
                log_creation.create(self[node_id].manager, each, topic_id=created.topic_id)
        self.image = self.image.with_topic(created)

    def elect(self, name: str, leader: int, *, number: int = 0, isr: tuple[int, ...] = ()) -> None:
        """Elect a leader in the next leader epoch."""
        found = self.image.topics[name]
        states = [*found.partitions]
        before = states[number]
        states[number] = before._replace(
            leader=leader, leader_epoch=before.leader_epoch + 1, isr=isr or before.isr
        )
        self.image = self.image.with_topic(replace(found, partitions=(*states,)))

    def delete(self, name: str) -> None:
        self.image = self.image.without_topic(name)

    def send_roles(self, *node_ids: int) -> None:
        """Apply the roles of the image, as LeaderAndIsr and StopReplica do."""
        for node_id in node_ids or NODES:
            self._apply(node_id, self._roles[node_id])
            self._roles[node_id] = self.image

    def _apply(self, node_id: int, before: ClusterImage) -> None:
        harness = self[node_id]
        for change in replica_changes(before, self.image, node_id=node_id):
            harness.hosting.apply(change)

    def send_images(self, *node_ids: int) -> None:
        """Publish the image, as UpdateMetadata does."""
        for node_id in node_ids or NODES:
            metadata = self[node_id].metadata
            metadata.publish(replace(self.image, epoch=metadata.image.epoch + 1))

    async def move(self, name: str, leader: int, *, number: int = 0) -> None:
        """Elect a leader; all reachable brokers notice it."""
        self.elect(name, leader, number=number)
        reachable = [each for each in NODES if each not in self.unreachable]
        self.send_roles(*reachable)
        self.send_images(*reachable)
        await self.settle()

    # -- the followers

    async def replicate(self) -> None:
        """Let each follower fetch once from its leader."""
        for node_id in NODES:
            for found in self._roles[node_id].topics.values():
                for name in found.names():
                    await self._fetch(node_id, self.partition(node_id, name.topic, name.partition))

    async def _fetch(self, node_id: int, copy: Partition) -> None:
        role = copy.role
        if not isinstance(role, Follower) or {node_id, role.leader} & self.unreachable:
            return
        leader = self.partition(role.leader, copy.name.topic, copy.name.partition)
        if not isinstance(leader.role, Leader) or leader.role.epoch != role.epoch:
            return
        latest, end = copy.log.epochs.latest, copy.log.bounds.log_end
        last_epoch = NO_LEADER_EPOCH if latest is None else latest.epoch
        divergence = leader.find_divergence(last_epoch, end)
        if divergence is not None:
            await asyncio.to_thread(copy.log.truncate_to, min(divergence.end_offset, end))
            return
        read = leader.read(end, max_bytes=1 << 20, isolation=FetchIsolation.LOG_END, min_one=True)
        if read.slice is not None:
            records = read.slice.read()
            read.slice.release()
            leader_bounds = LeaderBounds(read.high_watermark, read.log_start)
            await _ended(copy.followed(role.epoch).append(records, leader_bounds))
        leader.follower(node_id, leader_epoch=role.epoch)(end)

    # -- time

    async def settle(self, rounds: int = 4) -> None:
        """Let all that needs no time happen, with the copies of all records."""
        for _ in range(rounds):
            await self.replicate()
            await turns(10)

    async def advance(self, ms: int) -> None:
        """Let a time of the network and of the logs pass on all brokers."""
        for node_id in NODES:
            self[node_id].time.advance(ms=ms)
            self[node_id].storage.clock.advance(ms=ms)
        await self.settle()

    async def during(self, scene: Coroutine[object, object, T], *, rounds: int = 20) -> T:
        """Return the result of a request that ends while records are copied."""
        task = asyncio.ensure_future(scene)
        for _ in range(rounds):
            if task.done():
                break
            await self.settle(1)
        assert task.done(), "the request still waits"
        return await task


async def _ended(change: Pending[None] | None) -> None:
    """Wait until a change of a copy has ended."""
    if change is not None:
        await wait_for(change)


@asynccontextmanager
async def coordinated(
    config: LogConfig | None = None, **given: str
) -> AsyncIterator[CoordinatedBrokers]:
    """Start the coordinators of three brokers, of which the first leads all partitions."""
    brokers = CoordinatedBrokers(config, **given)
    for node_id in NODES:
        brokers[node_id].broker.coordinators.start()
    try:
        for name, partitions in TOPICS.items():
            await asyncio.to_thread(brokers.create, name, partitions)
        brokers.send_roles()
        brokers.send_images()
        await brokers.settle()
        yield brokers
    finally:
        for node_id in NODES:
            await brokers[node_id].broker.coordinators.stop()
