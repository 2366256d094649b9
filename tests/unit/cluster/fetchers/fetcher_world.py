"""Fetchers over a scripted leader and logs in memory, in virtual time."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.fetchers.fetch_counts import FetchCounts
from cordwood.cluster.fetchers.fetcher_settings import FetcherSettings
from cordwood.cluster.fetchers.local_replicas import LeaderBounds
from cordwood.cluster.fetchers.remote_leader import FetchingBroker
from cordwood.cluster.fetchers.replica_fetcher_manager import LeaderEndpoint, ReplicaFetcherManager
from cordwood.cluster.fetchers.replica_fetcher_task import FetcherParts
from cordwood.cluster.partition.replication_quota_manager import ReplicationQuotaManager
from cordwood.cluster.partition.truncation import FollowerLog, bounds_after_fetch
from cordwood.core.address import Address
from cordwood.core.errors import KafkaError, KafkaStorageError, NetworkError
from cordwood.core.ports import Pending
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from cordwood.protocol.schema import NEWEST, Request, Response
from cordwood.storage.checkpoints.leader_epoch_cache import LeaderEpochCache
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock

R = TypeVar("R", bound=Response)
T = TypeVar("T")
Answer: TypeAlias = Response | KafkaError

A, B, C = (TopicPartition(TopicName("orders"), PartitionId(number)) for number in range(3))
ORDERS_ID: Final = Uuid(bytes(range(16)))
LEADER: Final = LeaderEndpoint(2, Address("leader", 9092))
SETTINGS: Final = FetcherSettings(backoff_ms=1_000)


class ScriptedChannel:
    """A channel whose responses a test gives, or those of `answers` in their order."""

    def __init__(self, address: Address, client_id: str, *, version: int) -> None:
        self.address = address
        self.client_id = client_id
        self.sent: list[Request] = []
        self.versions: list[int] = []
        self.is_closed = False
        self._version = version
        self._answers = deque[Answer]()
        self._waiting = deque[asyncio.Future[Response]]()

    async def send(
        self, request: Request, kind: type[R], *, timeout_ms: float, most_version: int = NEWEST
    ) -> R:
        assert timeout_ms > 0
        if self.is_closed:
            raise NetworkError("the channel is closed")
        self.sent.append(request)
        self.versions.append(most_version)
        waiting: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        if self._answers:
            self.answer(self._answers.popleft())
        response = await waiting
        assert isinstance(response, kind)
        return response

    async def version(self, kind: type[Request], *, timeout_ms: float) -> int:
        assert kind is FetchRequest
        return self._version

    def close(self) -> None:
        self.is_closed = True
        while self._waiting:
            self.answer(NetworkError("the connection was closed"))

    def script(self, *answers: Answer) -> None:
        """Answer the next requests."""
        self._answers.extend(answers)

    def answer(self, answer: Answer) -> None:
        """Answer the oldest request."""
        waiting = self._waiting.popleft()
        if waiting.done():
            return
        if isinstance(answer, KafkaError):
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)

    @property
    def fetches(self) -> list[FetchRequest]:
        return [each for each in self.sent if isinstance(each, FetchRequest)]

    @property
    def fetched(self) -> list[list[tuple[int, int]]]:
        """The partitions of each fetch, with the offsets."""
        return [
            [
                (each.partition, each.fetch_offset)
                for topic in fetch.topics
                for each in topic.partitions
            ]
            for fetch in self.fetches
        ]


class ScriptedChannels:
    """The channels that were opened."""

    def __init__(self, version: int = 18) -> None:
        self.opened: list[ScriptedChannel] = []
        self.version = version

    def open(self, address: Address, *, client_id: str) -> ScriptedChannel:
        channel = ScriptedChannel(address, client_id, version=self.version)
        self.opened.append(channel)
        return channel


@dataclass(slots=True)
class MemoryLog:
    """A log that counts a record for each byte; `error` is that of its next change."""

    log_end: int = 0
    log_start: int = 0
    high_watermark: int = 0
    epochs: LeaderEpochCache = field(default_factory=LeaderEpochCache)
    error: Exception | None = None
    #: Set if changes wait for the disk.
    is_held: bool = False


class MemoryReplicas:
    """The port over logs in memory; `changes` are those that were made."""

    def __init__(self) -> None:
        self.logs = {each: MemoryLog() for each in (A, B, C)}
        self.changes: list[tuple[str, int, int]] = []
        self.held: list[Callable[[], object]] = []
        self.on_change: Callable[[], object] = lambda: None

    def follower_log(self, partition: TopicPartition) -> FollowerLog:
        log = self.logs.get(partition)
        if log is None:
            raise KafkaStorageError(f"{partition} is offline")
        return FollowerLog(log.epochs, log.log_start, log.log_end, log.high_watermark)

    def append(
        self,
        partition: TopicPartition,
        records: memoryview,
        *,
        leader_epoch: int,
        bounds: LeaderBounds,
    ) -> Pending[None] | None:
        log = self.logs[partition]

        def append() -> None:
            if records:
                log.epochs.assign(LeaderEpoch(leader_epoch), Offset(log.log_end))
                log.log_end += len(records)
            new = bounds_after_fetch(
                self.follower_log(partition),
                leader_high_watermark=bounds.high_watermark,
                leader_start=bounds.log_start,
            )
            log.high_watermark, log.log_start = new

        return self._change(partition, append, ("append", partition.partition, len(records)))

    def truncate(
        self, partition: TopicPartition, offset: int, *, leader_epoch: int
    ) -> Pending[None] | None:
        log = self.logs[partition]

        def truncate() -> None:
            log.log_end = offset
            log.high_watermark = min(log.high_watermark, offset)
            log.epochs.truncate_from_end(Offset(offset))

        assert leader_epoch >= 0
        return self._change(partition, truncate, ("truncate", partition.partition, offset))

    def start_at(
        self, partition: TopicPartition, offset: int, *, leader_epoch: int
    ) -> Pending[None] | None:
        log = self.logs[partition]

        def start() -> None:
            log.log_start = log.log_end = log.high_watermark = offset
            log.epochs.clear()

        assert leader_epoch >= 0
        return self._change(partition, start, ("start", partition.partition, offset))

    def go_on(self) -> None:
        """Complete the changes that wait for the disk."""
        held, self.held = self.held, []
        for each in held:
            each()

    def _change(
        self, partition: TopicPartition, call: Callable[[], None], name: tuple[str, int, int]
    ) -> Pending[None] | None:
        log = self.logs[partition]
        self.changes.append(name)
        self.on_change()
        error, log.error = log.error, None
        if not log.is_held:
            if error is not None:
                raise error
            call()
            return None
        pending: Future[None] = Future()

        def complete() -> None:
            if error is not None:
                pending.set_exception(error)
                return
            call()
            pending.set_result(None)

        self.held.append(complete)
        return pending


class FetcherWorld:
    """A manager of fetchers of broker 1, with its ports."""

    def __init__(self, settings: FetcherSettings = SETTINGS, *, version: int = 18) -> None:
        self.time = VirtualClock()
        self.replicas = MemoryReplicas()
        self.channels = ScriptedChannels(version)
        self.events: list[str] = []
        self.broker_epoch = 70
        self.quota = ReplicationQuotaManager(self.time.monotonic_ms, windows=10, window_ms=1_000)
        self.manager = ReplicaFetcherManager(
            FetchingBroker(1, lambda: self.broker_epoch),
            self.channels,
            settings,
            FetcherParts(
                self.replicas,
                ClientRuntime(self.time, self.time, SeededRandom(1)),
                FetchCounts(),
                self.events.append,
                self.quota,
            ),
        )

    @property
    def channel(self) -> ScriptedChannel:
        """The channel that was opened last."""
        return self.channels.opened[-1]

    async def follow(
        self, *partitions: TopicPartition, epoch: int = 4, leader: LeaderEndpoint = LEADER
    ) -> None:
        """Follow, and let the requests begin."""
        for each in partitions or (A,):
            self.manager.follow(each, ORDERS_ID, leader=leader, leader_epoch=epoch)
        await turns()

    async def answer(self, answer: Answer) -> None:
        """Answer the request that waits, and let it have its effects."""
        self.channel.answer(answer)
        await turns()

    async def pass_time(self, ms: float) -> None:
        self.time.advance(ms=ms)
        await turns()

    def end_of(self, partition: TopicPartition = A) -> int:
        return self.replicas.logs[partition].log_end


def data(
    partition: TopicPartition = A,
    records: int = 0,
    *,
    error: int = 0,
    high_watermark: int = 0,
    log_start: int = 0,
    diverging: tuple[int, int] | None = None,
) -> PartitionData:
    """Return a partition of a response, with a record a byte."""
    end = EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]) if diverging else None
    return PartitionData(
        partition_index=partition.partition,
        error_code=error,
        high_watermark=high_watermark,
        log_start_offset=log_start,
        diverging_epoch=end,
        aborted_transactions=None,
        records=memoryview(b"r" * records),
    )


def response(*partitions: PartitionData, session: int = 9, error: int = 0) -> FetchResponse:
    """Return a response for partitions of the topic."""
    topic = FetchableTopicResponse(topic_id=ORDERS_ID, partitions=[*partitions])
    return FetchResponse(
        error_code=error, session_id=session, responses=[topic] if partitions else []
    )


async def turns(count: int = 8) -> None:
    """Let every task run as far as it can."""
    loop = asyncio.get_running_loop()
    for _ in range(count):
        passed = loop.create_future()
        loop.call_soon(passed.set_result, None)
        await passed


def run(scene: Callable[[FetcherWorld], Coroutine[object, object, T]], **given: object) -> T:
    """Run a scene with its world, which is stopped at the end."""

    async def whole() -> T:
        world = FetcherWorld(**given)  # type: ignore[arg-type] # as the world takes them
        try:
            return await scene(world)
        finally:
            await world.manager.stop()

    return asyncio.run(whole())
