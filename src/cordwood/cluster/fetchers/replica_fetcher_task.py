"""Copying of partitions from one leader (Kafka: `ReplicaFetcherThread`, `AbstractFetcherThread`).

    1. the request that `ReplicaFetcher` states, for all partitions that are ready
    2. its response: each partition's answer is an action on the local log, or none
    3. when all actions are complete, the next request

The answers are applied in their order, for a few milliseconds per turn of the loop. An action that
waits for the disk does not hold up those of other partitions.

A partition whose log fails stops; the others continue. The task ends when the last partition has
been removed. An error of a request is reported once, until a request succeeds.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

from cordwood.client.network.runtime import ClientRuntime, LoopTurn
from cordwood.cluster.fetchers.fetch_counts import FetchCounts
from cordwood.cluster.fetchers.local_replicas import LeaderBounds, LocalReplicas
from cordwood.cluster.fetchers.remote_leader import ReceivedAnswer, RemoteLeader
from cordwood.cluster.partition.partition_fetch_state import PartitionFetchState
from cordwood.cluster.partition.replica_fetcher import (
    ApplyFetched,
    FetchedPartition,
    LeaderAnswer,
    LogAction,
    ReplicaFetcher,
    SentPartitions,
)
from cordwood.cluster.partition.replication_quota_manager import ReplicationQuotaManager
from cordwood.cluster.partition.truncation import FollowerLog, TruncateTo
from cordwood.core.errors import KafkaError, UnknownServerError
from cordwood.core.ports import Pending
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.fetch import PartitionData

#: The time in which answers are applied in one turn of the loop.
TURN_MS: Final = 2
_NO_RECORDS: Final = memoryview(b"")
_UNKNOWN: Final = -1


class FetcherParts(NamedTuple):
    """Ports and counts that all fetchers of a broker share.

    `on_event` receives messages for the operator. `quota` limits the records of throttled replicas.
    """

    replicas: LocalReplicas
    runtime: ClientRuntime
    counts: FetchCounts
    on_event: Callable[[str], object]
    quota: ReplicationQuotaManager


class ReplicaFetcherTask:
    """A fetcher of one leader; `on_end` is called when it has no partitions left."""

    def __init__(
        self,
        name: str,
        leader: RemoteLeader,
        parts: FetcherParts,
        *,
        backoff_ms: float,
        on_end: Callable[["ReplicaFetcherTask"], object],
    ) -> None:
        self.name: Final = name
        self._leader = leader
        self._parts = parts
        self._on_end = on_end
        self._fetcher = ReplicaFetcher(backoff_ms=backoff_ms, is_throttled=parts.quota.is_throttled)
        self._wakeup = asyncio.Event()
        #: The actions that wait for the disk.
        self._under_way = 0
        self._is_reported = False
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run())

    def __repr__(self) -> str:
        return f"ReplicaFetcherTask({self.name}, {len(self.states)} partitions)"

    @property
    def states(self) -> Mapping[TopicPartition, PartitionFetchState]:
        """The states of the partitions."""
        return self._fetcher.states

    def add(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        *,
        leader_epoch: int,
        is_in_sync: bool = False,
    ) -> None:
        """Follow in a leader epoch; KafkaError if there is no usable log."""
        log = self._parts.replicas.follower_log(partition)
        self._perform(
            self._fetcher.add(
                partition, topic_id, leader_epoch=leader_epoch, log=log, is_in_sync=is_in_sync
            )
        )
        self._wakeup.set()

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop following; an action that is under way may end."""
        self._fetcher.remove(partitions)
        self._wakeup.set()

    def pause(self, partition: TopicPartition) -> None:
        """Leave the partition out of requests."""
        self._fetcher.pause(partition)

    def resume(self, partition: TopicPartition) -> None:
        """Continue where the partition was paused."""
        self._fetcher.resume(partition)
        self._wakeup.set()

    def use(self, leader: RemoteLeader) -> None:
        """Send later requests to the leader's new address; the present one has no response."""
        former, self._leader = self._leader, leader
        former.close()

    async def stop(self) -> None:
        """End; the partitions are not followed any longer."""
        self._fetcher.remove([*self.states])
        self._task.cancel()
        await asyncio.wait([self._task])
        self._leader.close()

    # -- requests

    async def _run(self) -> None:
        while True:
            self._wakeup.clear()
            now_ms = self._parts.runtime.now_ms()
            sent = self._fetcher.next_request(now_ms=now_ms)
            if sent is not None:
                await self._round(sent)
            elif self.states or self._under_way:
                await self._wait(self._fetcher.wakes_at_ms(now_ms=now_ms))
            else:
                self._leader.close()
                self._on_end(self)
                return

    async def _wait(self, until_ms: float | None) -> None:
        """Wait until a delay is over, or until the partitions change."""
        if until_ms is None:
            await self._wakeup.wait()
            return
        timer = self._parts.runtime.scheduler.call_at(until_ms, self._wakeup.set)
        try:
            await self._wakeup.wait()
        finally:
            timer.cancel()

    async def _round(self, sent: SentPartitions) -> None:
        """Send one request, and apply its response."""
        self._parts.counts.requests += 1
        try:
            answers = await self._leader.ask(sent, self._log_starts(sent))
            await self._apply(sent, answers)
        except Exception as error:  # noqa: BLE001 - the fetcher must not end with partitions
            self._parts.counts.failed_requests += 1
            self._fetcher.on_disconnect(sent, now_ms=self._parts.runtime.now_ms())
            self._report(error)
            return
        self._is_reported = False
        while self._under_way:
            await self._wakeup.wait()
            self._wakeup.clear()

    def _log_starts(self, sent: SentPartitions) -> dict[TopicPartition, int]:
        found = dict[TopicPartition, int]()
        for partition in sent.partitions:
            log = self._log(partition)
            found[partition] = _UNKNOWN if log is None else log.log_start
        return found

    def _report(self, error: Exception) -> None:
        if not self._is_reported:
            self._is_reported = True
            reason = error if isinstance(error, KafkaError) else repr(error)
            self._parts.on_event(f"{self.name}: a request has failed: {reason}")

    # -- answers

    async def _apply(self, sent: SentPartitions, answers: Iterable[ReceivedAnswer]) -> None:
        runtime = self._parts.runtime
        end_ms = runtime.now_ms() + TURN_MS
        for answer, data in answers:
            if runtime.now_ms() >= end_ms:
                await LoopTurn()
                end_ms = runtime.now_ms() + TURN_MS
            log = self._log(answer.partition)
            if log is not None:
                now_ms = runtime.now_ms()
                action = self._fetcher.on_answer(sent, answer, log=log, now_ms=now_ms)
                if _leaves_bounds(answer, action):
                    self._leader.restart_session()
                self._perform(action, data)

    def _perform(self, action: LogAction | None, data: PartitionData | None = None) -> None:
        """Make an action and those that follow, up to one that waits for the disk."""
        while action is not None:
            error: BaseException | None = None
            try:
                pending = self._begin(action, data)
            except Exception as failure:  # noqa: BLE001 - it stops this partition alone
                error, pending = failure.with_traceback(None), None
            if pending is not None and not pending.done():
                self._under_way += 1
                pending.add_done_callback(partial(self._call_ended, action))
                return
            if pending is not None:
                error = pending.exception()
            action = self._next(action, error)

    def _begin(self, action: LogAction, data: PartitionData | None) -> Pending[None] | None:
        partition, state, step = action
        replicas, epoch = self._parts.replicas, state.leader_epoch
        if isinstance(step, TruncateTo):
            self._parts.counts.truncations += 1
            return replicas.truncate(partition, step.offset, leader_epoch=epoch)
        if not isinstance(step, ApplyFetched):
            return replicas.start_at(partition, step.offset, leader_epoch=epoch)
        assert data is not None, "the records of a fetch are in its response"
        records = _records_of(data)
        self._parts.counts.bytes += len(records)
        if self._parts.quota.is_listed(partition):
            self._parts.quota.record(len(records))
        bounds = LeaderBounds(step.leader_high_watermark, data.log_start_offset)
        return replicas.append(partition, records, leader_epoch=epoch, bounds=bounds)

    def _call_ended(self, action: LogAction, pending: Pending[None]) -> None:
        """Continue on the loop after an action that has ended on any thread."""
        self._loop.call_soon_threadsafe(self._ended, action, pending)

    def _ended(self, action: LogAction, pending: Pending[None]) -> None:
        self._under_way -= 1
        self._perform(self._next(action, pending.exception()))
        self._wakeup.set()

    def _next(self, action: LogAction, error: BaseException | None) -> LogAction | None:
        """Return the action that follows; none of them is on records."""
        partition = action.partition
        log = self._log(partition)
        if log is None:
            # The partition may return with another log, for which this action must have ended.
            self._fetcher.abandon(action)
            return None
        if error is None:
            return self._fetcher.applied(action, log=log)
        if not isinstance(error, KafkaError):
            error = UnknownServerError(f"{partition}: {error!r}")
        now_ms = self._parts.runtime.now_ms()
        following = self._fetcher.rejected(action, error, log=log, now_ms=now_ms)
        if following is None and partition in self.states:
            self._parts.on_event(f"{self.name}: {partition}: {error}")
        return following

    def _log(self, partition: TopicPartition) -> FollowerLog | None:
        """Return the log; without one the partition has failed."""
        try:
            return self._parts.replicas.follower_log(partition)
        except KafkaError as error:
            if partition in self.states:
                self._parts.on_event(f"{self.name}: {partition} is not copied: {error}")
                self._fetcher.fail(partition, error.with_traceback(None))
            return None


def _leaves_bounds(answer: LeaderAnswer, action: LogAction | None) -> bool:
    """Return whether the bounds of a fetch are not used: it is outdated, or the logs diverge."""
    is_used = action is not None and isinstance(action.step, ApplyFetched)
    return isinstance(answer, FetchedPartition) and not answer.error_code and not is_used


def _records_of(data: PartitionData) -> memoryview:
    """Return the records of a response that was received; it has no ranges of files."""
    records = data.records
    if not isinstance(records, bytes | bytearray | memoryview):
        return _NO_RECORDS
    return memoryview(records)
