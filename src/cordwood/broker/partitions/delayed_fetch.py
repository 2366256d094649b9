"""Fetch over several partitions, with its long poll (Kafka: `DelayedFetch`).

Every partition is read once, in request order, within the bytes that the partitions before it have
left. The first batch of the response is always whole, however large it is; later batches are whole
or left out.

The response is sent at once if one of these holds:

    `max_wait_ms` is 0, or `min_bytes` have been read
    a partition has an error, or its log has diverged from the fetcher's
    a consumer is to read from another replica
    a read ended at the end of a segment: only the next fetch reads the segment after it
    no requested partition is hosted here, so that no append can complete the fetch

Otherwise the fetch waits until one of them holds, the time is over, or the connection stops. It
waits for a place in each log: with one partition that of `min_bytes`, with several that of the next
byte, whose bytes are added up. Neither reads. At the end the partitions with more to read are read
again, and before it those that have changed in another way.

An unknown partition does not end the wait, or its client would retry in a tight loop. Nor does a
throttled one, whose follower gets no records until the rate of its leader has fallen.

The fetch of a session reads no partition whose reader is idle. Its result stays UNREAD unless it
moves, and the fetch leaves a reader in the result of each partition that was read to its end.
"""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.stop_signal import StopSignal
from cordwood.broker.partitions.idle_reader import IdleReader
from cordwood.broker.partitions.offset_waiters import OffsetWaiter
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_fetch import PartitionFetch
from cordwood.broker.partitions.replica_selector import ReplicaSelection
from cordwood.broker.partitions.session_readers import SessionReader, SessionReaders
from cordwood.cluster.partition.leader import Leader
from cordwood.cluster.partition.replica_state import NO_BROKER_EPOCH
from cordwood.cluster.partition.replication_quota_manager import ReplicationQuotaManager
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import KafkaError
from cordwood.core.ports import Clock, Scheduler
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd
from cordwood.storage.log.log_read import FetchIsolation, LogPosition, LogRead, readable_end

_READ_COMMITTED: Final = 1
#: The replica id of a consumer.
CONSUMER: Final = -1
NO_REPLICA: Final = -1


class FetchParams(NamedTuple):
    """The limits of a whole fetch (Kafka: `FetchParams`)."""

    max_bytes: int
    min_bytes: int
    max_wait_ms: int
    isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK
    #: The follower that fetches, -1 for a consumer, and the epoch of its registration.
    replica_id: int = CONSUMER
    broker_epoch: int = NO_BROKER_EPOCH
    #: Whether a log that follows another broker must not be read.
    needs_leader: bool = True
    #: The replicas near the consumer, from which it should read.
    selection: ReplicaSelection | None = None
    #: The readers of its session, for which the results get readers.
    readers: SessionReaders | None = None
    #: The throttle of followers, None for a consumer.
    quota: ReplicationQuotaManager | None = None


class PartitionFetchResult(NamedTuple):
    """The outcome for one partition: an error, a read, or the point where the logs diverged.

    `reader` waits at the end of the read, for the next fetches of the session. With a preferred
    read replica there are no records: the consumer is to read from there. A throttled result has
    none either, and another read may have some once the rate has fallen.
    """

    read: LogRead | None = None
    error: KafkaError | None = None
    divergence: EpochEnd | None = None
    reader: IdleReader | None = None
    preferred_read_replica: int = NO_REPLICA
    is_throttled: bool = False

    @property
    def length(self) -> int:
        return self.read.length if self.read is not None else 0

    @property
    def is_urgent(self) -> bool:
        """Whether waiting cannot add to this result."""
        return (
            self.read is None
            or self.divergence is not None
            or self.preferred_read_replica != NO_REPLICA
            or self.read.has_more
        )

    def release(self) -> None:
        """Release the slice of a read that will not be sent, and the reader."""
        if self.read is not None and self.read.slice is not None:
            self.read.slice.release()
        if self.reader is not None:
            self.reader.release()


#: The result of a partition that need not be read, since its reader is idle.
UNREAD: Final = PartitionFetchResult()
#: The number of idle readers between two looks at the time.
_IDLE_AT_A_TIME: Final = 64


def isolation_of(level: int) -> FetchIsolation:
    """Return the isolation for the level's number in the protocol."""
    return (
        FetchIsolation.TXN_COMMITTED if level == _READ_COMMITTED else FetchIsolation.HIGH_WATERMARK
    )


async def fetch(
    partitions: Sequence[PartitionFetch | IdleReader],
    params: FetchParams,
    *,
    turns: LoopTurns,
    clock: Clock,
    scheduler: Scheduler,
    stopping: StopSignal,
) -> list[PartitionFetchResult]:
    """Return one result a partition when the fetch is complete; the caller releases them."""
    delayed = _DelayedFetch(partitions, params, turns)
    try:
        await delayed.read_all()
        if params.max_wait_ms > 0 and not delayed.is_complete():
            await delayed.wait(clock=clock, scheduler=scheduler, stopping=stopping)
        await delayed.record_metrics()
    except BaseException:
        release(delayed.results)
        raise
    finally:
        delayed.cancel_waits()
    return delayed.results


def release(results: Sequence[PartitionFetchResult]) -> None:
    """Release the slices and the readers of all results."""
    for each in results:
        each.release()


class _DelayedFetch:
    """A fetch in progress: the last result of every partition, and the bytes of all of them."""

    __slots__ = (
        "_added",
        "_changed",
        "_has_expired",
        "_idle",
        "_is_sole",
        "_is_urgent",
        "_params",
        "_partitions",
        "_pending",
        "_readers",
        "_starts",
        "_turns",
        "_waited",
        "_waits",
        "_wakeup",
        "bytes",
        "results",
    )

    def __init__(  # tidy: allow[init-lines] a fetch in progress has many counts, and no IO here
        self,
        partitions: Sequence[PartitionFetch | IdleReader],
        params: FetchParams,
        turns: LoopTurns,
    ) -> None:
        kept = [] if params.readers is None else partitions
        self._idle = {i: each for i, each in enumerate(kept) if isinstance(each, IdleReader)}
        self._partitions = [
            each.fetch if isinstance(each, IdleReader) else each for each in partitions
        ]
        self._params = params
        self._turns = turns
        self._readers = params.readers
        if self._readers is not None:
            self._readers.on_move = self._on_move
        self.results = [UNREAD] * len(partitions)
        self.bytes = 0
        #: The readable bytes that are not read yet: all of them, and those of each partition.
        self._pending = 0
        self._added: dict[int, int] = {}
        self._changed: set[int] = set()
        #: Up to where a partition was readable when it was last read.
        self._starts: dict[int, LogPosition] = {}
        self._waits = dict[int, OffsetWaiter]()
        #: The partitions, from the first one on, whose waits have begun.
        self._waited = 0
        self._wakeup = asyncio.Event()
        self._has_expired = False
        hosted = sum(isinstance(each.source, Partition) for each in self._partitions)
        # Without a hosted partition no append can ever complete the fetch.
        self._is_urgent, self._is_sole = not hosted, hosted == 1

    async def read_all(self) -> None:
        """Read all partitions in their order.

        The waits begin before another turn: a partition may change before the last read.
        """
        for index in range(len(self._partitions)):
            is_idle = self._stays_idle(index)
            if is_idle and index % _IDLE_AT_A_TIME:
                continue
            if self._turns.is_over:
                self._begin_waits(index)
                await self._turns.pause()
            if not is_idle:
                self._read_at(index)

    def _stays_idle(self, index: int) -> bool:
        """Return whether a partition need not be read; its reader then calls this fetch."""
        reader = self._idle.get(index)
        if reader is None:
            return False
        if reader.is_waiting:
            reader.index = index
            return True
        del self._idle[index]
        return False

    def _read_at(self, index: int) -> None:
        """Read one partition; a second read replaces the first."""
        before = self.results[index]
        # The old bytes are given back first, so that the new read has them in its limit.
        self.bytes -= before.length
        self._pending -= self._added.pop(index, 0)
        self.results[index] = UNREAD
        before.release()
        wanted = self._partitions[index]
        if isinstance(wanted.source, Partition):
            result = _read(wanted.source, wanted, self._params, used_bytes=self.bytes)
            self._is_urgent |= result.is_urgent
            if self._readers is not None:
                result = self._with_reader(index, result, readers=self._readers)
        else:
            result = PartitionFetchResult(error=wanted.source)
        self.results[index] = result
        self.bytes += result.length

    def _with_reader(
        self, index: int, result: PartitionFetchResult, *, readers: SessionReaders
    ) -> PartitionFetchResult:
        """Let a reader wait at the end of a partition, in the turn that has read up to it."""
        wanted, isolation, read = self._partitions[index], self._params.isolation, result.read
        if (
            not isinstance(wanted.source, Partition)
            or read is None
            or result.divergence is not None
            or result.preferred_read_replica != NO_REPLICA
            or wanted.offset < readable_end(read, isolation)
        ):
            return result
        start = wanted.source.readable_position(isolation)
        if start is None:
            return result
        reader = IdleReader(wanted, wanted.source, start, isolation=isolation, readers=readers)
        reader.index = index
        self._idle[index] = reader
        return result._replace(reader=reader)

    def is_complete(self) -> bool:
        """Whether the response need not wait."""
        return self._is_urgent or self.bytes >= self._params.min_bytes

    async def record_metrics(self) -> None:
        """Add the bytes of the response to the metrics of topics, and to the throttle's rate."""
        if not self.bytes:
            return
        quota = self._params.quota
        for wanted, result in zip(self._partitions, self.results, strict=True):
            if self._turns.is_over:
                await self._turns.pause()
            if result.length and isinstance(wanted.source, Partition):
                wanted.source.metrics.record_fetch(result.length)
                if quota is not None and quota.is_listed(wanted.source.name):
                    quota.record(result.length)

    async def wait(self, *, clock: Clock, scheduler: Scheduler, stopping: StopSignal) -> None:
        """Wait until the fetch is complete or its time is over; read what there is by then."""
        deadline_ms = clock.monotonic_ms() + self._params.max_wait_ms
        timer = scheduler.call_at(deadline_ms, self._expire)
        stopping.watch(self._expire)
        try:
            self._begin_waits(len(self._partitions))
            while not await self._has_ended():
                await self._wakeup.wait()
                self._wakeup.clear()
        finally:
            timer.cancel()
            stopping.unwatch(self._expire)

    def cancel_waits(self) -> None:
        """End the waits in all partitions, but not those of idle readers."""
        for waiter in self._waits.values():
            waiter.cancel()
        if self._readers is not None and self._readers.on_move == self._on_move:
            self._readers.on_move = None

    async def _has_ended(self) -> bool:
        """Read what has changed, and everything at the end; return whether it is the end."""
        self._turns.begin()
        changed, self._changed = self._changed, set()
        await self._read_again(changed)
        while self._has_expired or self._is_due():
            for index in [i for i, each in self._idle.items() if not each.is_waiting]:
                self._end_idleness(index)
            indexes = self._turns.of(sorted(self._starts))
            await self._read_again([index async for index in indexes if self._has_moved(index)])
            if self._has_expired or self.is_complete():
                return True
        return False

    def _is_due(self) -> bool:
        """Whether the fetch will probably be complete after another read."""
        return self._is_urgent or self.bytes + self._pending >= self._params.min_bytes

    async def _read_again(self, indexes: Iterable[int]) -> None:
        """Read partitions again, in their order, and wait for what follows."""
        for index in sorted(indexes):
            if self._turns.is_over:
                await self._turns.pause()
            self._read_at(index)
            self._wait_for(index)

    def _has_moved(self, index: int) -> bool:
        """Return whether another read of a partition would, or may, have another result."""
        if self.results[index].is_throttled:
            return True
        source, start = self._partitions[index].source, self._starts.get(index)
        if not isinstance(source, Partition) or start is None:
            return False
        return source.readable_position(self._params.isolation) != start

    def _begin_waits(self, end: int) -> None:
        """Begin the waits of the partitions below an index, in the turn that has read them."""
        if self._params.max_wait_ms > 0:
            for index in range(self._waited, end):
                if index not in self._idle and index not in self._starts:
                    self._wait_for(index)
            self._waited = end

    def _wait_for(self, index: int) -> None:
        """Wait until enough can be read in a partition that was just read; not after an error."""
        source, read = self._partitions[index].source, self.results[index].read
        waiter = self._waits.pop(index, None)
        if waiter is not None:
            waiter.cancel()
        if not isinstance(source, Partition) or read is None:
            return
        if index in self._idle:
            self._starts.pop(index, None)
            return
        start = source.readable_position(self._params.isolation)
        if start is None:
            self._is_urgent = True
            return
        self._starts[index] = start
        self._add_wait(index, source, start)

    def _add_wait(self, index: int, source: Partition, position: LogPosition) -> None:
        """Wait for the place at which the next bytes, or all of them, can be read."""
        needed = 1
        if self._is_sole:
            position = self._starts[index]
            needed = max(1, self._params.min_bytes - self.bytes)
        if needed > self._room(index) - self._added.get(index, 0):
            needed = INT32_MAX  # only another segment, or a change, ends this wait
        base, at = position
        self._waits[index] = source.wait_for(
            LogPosition(base, at + needed),
            partial(self._mark, index, source),
            isolation=self._params.isolation,
        )

    def _room(self, index: int) -> int:
        """Return the number of bytes that a partition may still add to the response."""
        result = self.results[index]
        if result is UNREAD:
            return self._partitions[index].max_bytes
        if result.is_throttled:
            return 0
        if result.read is None or result.read.is_first_incomplete:
            return 0
        return max(0, self._partitions[index].max_bytes - result.length)

    def _mark(self, index: int, source: Partition) -> None:
        """Add up the bytes that can be read by now; a change of another kind is read at once."""
        start, position = self._starts[index], source.readable_position(self._params.isolation)
        if position is None or position <= start or position.segment_base > start.segment_base:
            self._changed.add(index)
            self._wakeup.set()
            return
        added = min(position.bytes - start.bytes, self._room(index))
        self._pending += added - self._added.get(index, 0)
        self._added[index] = added
        if self._is_due():
            self._wakeup.set()
        else:
            self._add_wait(index, source, position)

    def _on_move(self, reader: SessionReader) -> None:
        """Wait for more than the first byte; a reader of an overtaken fetch is ignored."""
        if self._idle.get(reader.index) is reader:
            self._end_idleness(reader.index)

    def _end_idleness(self, index: int) -> None:
        reader = self._idle.pop(index)
        self._starts[index] = reader.start
        source = reader.fetch.source
        assert isinstance(source, Partition), "it was read"
        self._mark(index, source)

    def _expire(self) -> None:
        self._has_expired = True
        self._wakeup.set()


def _read(
    source: Partition, wanted: PartitionFetch, params: FetchParams, *, used_bytes: int
) -> PartitionFetchResult:
    """Read one partition, after others that have used some bytes of the response."""
    try:
        source.ensure_epoch(wanted.leader_epoch)
        preferred = _preferred(params.selection, source, wanted.offset)
        if preferred is not None:
            return PartitionFetchResult(source.empty_read(), preferred_read_replica=preferred)
        divergence = source.find_divergence(
            wanted.last_epoch, wanted.offset, needs_leader=params.needs_leader
        )
        if divergence is not None:
            return PartitionFetchResult(source.empty_read(), divergence=divergence)
        if params.replica_id == CONSUMER:
            return PartitionFetchResult(_read_log(source, wanted, params, used_bytes=used_bytes))
        record_end = source.follower(
            params.replica_id,
            leader_epoch=wanted.leader_epoch,
            log_start=wanted.log_start,
            broker_epoch=params.broker_epoch,
        )
        read = _read_log(source, wanted, params, used_bytes=used_bytes)
        record_end(wanted.offset)
        if _is_throttled(source, params):
            if read.slice is not None:
                read.slice.release()
            return PartitionFetchResult(source.empty_read(), is_throttled=True)
        return PartitionFetchResult(read)
    except KafkaError as error:
        # Its frames refer to the results, and with them to the error.
        return PartitionFetchResult(error=error.with_traceback(None))


def _read_log(
    source: Partition, wanted: PartitionFetch, params: FetchParams, *, used_bytes: int
) -> LogRead:
    read = source.read(
        wanted.offset,
        max_bytes=max(0, min(wanted.max_bytes, params.max_bytes - used_bytes)),
        isolation=params.isolation,
        min_one=not used_bytes,
        needs_leader=params.needs_leader,
    )
    # Only the first batch of the whole response may exceed the limits.
    if read.is_first_incomplete and read.slice is not None:
        read.slice.release()
        return read._replace(slice=None)
    return read


def _is_throttled(source: Partition, params: FetchParams) -> bool:
    """Return whether a follower gets no records now (Kafka: `shouldLeaderThrottle`)."""
    role, quota = source.role, params.quota
    if quota is None or not isinstance(role, Leader):
        return False
    return quota.is_throttled(source.name, is_in_sync=params.replica_id in role.isr)


def _preferred(selection: ReplicaSelection | None, source: Partition, offset: int) -> int | None:
    """Return the replica from which the consumer should read, None for this one."""
    role = source.role
    if selection is None or not isinstance(role, Leader):
        return None
    return selection.preferred(role, offset)
