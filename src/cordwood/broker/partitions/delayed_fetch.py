"""Fetch over several partitions, with its long poll (Kafka: `DelayedFetch`).

Every partition is read once, in request order, within the bytes that the partitions before it have
left. The first batch of the response is always whole, however large it is; later batches are whole
or left out.

The response is sent at once if one of these holds:

    `max_wait_ms` is 0, or `min_bytes` have been read
    a partition has an error, or its log has diverged from the fetcher's
    a read ended at the end of a segment: only the next fetch reads the segment after it
    no requested partition is hosted here, so that no append can complete the fetch

Otherwise the fetch waits until one of them holds, the time is over, or the connection stops. An
append completes nothing by itself: it marks its partition, and only marked partitions are read
again.

An unknown partition does not end the wait, or its client would retry in a tight loop.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from cordwood.broker.network.stop_signal import StopSignal
from cordwood.broker.partitions.partition import Partition
from cordwood.core.errors import KafkaError
from cordwood.core.ports import Clock, Scheduler
from cordwood.core.types import NO_LEADER_EPOCH
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd
from cordwood.storage.log.log_read import FetchIsolation, LogRead

_READ_COMMITTED: Final = 1


class PartitionFetch(NamedTuple):
    """The fetch position of one partition; `source` is an error if it cannot be read."""

    source: Partition | KafkaError
    offset: int
    max_bytes: int
    leader_epoch: int = NO_LEADER_EPOCH
    last_epoch: int = NO_LEADER_EPOCH


class FetchParams(NamedTuple):
    """The limits of a whole fetch (Kafka: `FetchParams`)."""

    max_bytes: int
    min_bytes: int
    max_wait_ms: int
    isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK


class PartitionFetchResult(NamedTuple):
    """The outcome for one partition: an error, a read, or the point where the logs diverged."""

    read: LogRead | None = None
    error: KafkaError | None = None
    divergence: EpochEnd | None = None

    @property
    def length(self) -> int:
        return self.read.length if self.read is not None else 0

    @property
    def is_urgent(self) -> bool:
        """Whether waiting cannot add to this result."""
        return self.read is None or self.divergence is not None or self.read.has_more

    def release(self) -> None:
        """Release the slice of a read that will not be sent."""
        if self.read is not None and self.read.slice is not None:
            self.read.slice.release()


_UNREAD: Final = PartitionFetchResult()


def isolation_of(level: int) -> FetchIsolation:
    """Return the isolation for the level's number in the protocol."""
    return (
        FetchIsolation.TXN_COMMITTED if level == _READ_COMMITTED else FetchIsolation.HIGH_WATERMARK
    )


async def fetch(
    partitions: Sequence[PartitionFetch],
    params: FetchParams,
    *,
    clock: Clock,
    scheduler: Scheduler,
    stopping: StopSignal,
) -> list[PartitionFetchResult]:
    """Return one result a partition when the fetch is complete; the caller releases the slices."""
    delayed = _DelayedFetch(partitions, params)
    try:
        for index in range(len(partitions)):
            delayed.read(index)
        if params.max_wait_ms > 0 and not delayed.is_complete():
            await delayed.wait(clock=clock, scheduler=scheduler, stopping=stopping)
        delayed.record_metrics()
    except BaseException:
        release(delayed.results)
        raise
    return delayed.results


def release(results: Sequence[PartitionFetchResult]) -> None:
    """Release the slices of all reads."""
    for each in results:
        each.release()


class _DelayedFetch:
    """A fetch in progress: the last result of every partition, and the bytes of all of them."""

    __slots__ = (
        "_has_expired",
        "_is_urgent",
        "_marked",
        "_params",
        "_partitions",
        "_wakeup",
        "bytes",
        "results",
    )

    def __init__(self, partitions: Sequence[PartitionFetch], params: FetchParams) -> None:
        self._partitions = partitions
        self._params = params
        self.results = [_UNREAD] * len(partitions)
        self.bytes = 0
        self._marked: set[int] = set()
        self._wakeup = asyncio.Event()
        self._has_expired = False
        # Without a hosted partition no append can ever complete the fetch.
        self._is_urgent = not any(isinstance(each.source, Partition) for each in partitions)

    def read(self, index: int) -> None:
        """Read one partition; a second read replaces the first."""
        before = self.results[index]
        # The old bytes are given back first, so that the new read has them in its limit.
        self.bytes -= before.length
        self.results[index] = _UNREAD
        before.release()
        wanted = self._partitions[index]
        if isinstance(wanted.source, Partition):
            result = self._read(wanted.source, wanted)
            self._is_urgent |= result.is_urgent
        else:
            result = PartitionFetchResult(error=wanted.source)
        self.results[index] = result
        self.bytes += result.length

    def is_complete(self) -> bool:
        """Whether the response need not wait."""
        return self._is_urgent or self.bytes >= self._params.min_bytes

    def record_metrics(self) -> None:
        """Add the bytes of the response to the metrics of its topics."""
        for wanted, result in zip(self._partitions, self.results, strict=True):
            if result.length and isinstance(wanted.source, Partition):
                wanted.source.metrics.record_fetch(result.length)

    async def wait(self, *, clock: Clock, scheduler: Scheduler, stopping: StopSignal) -> None:
        """Read marked partitions again until the fetch is complete or its time is over."""
        watches = [
            (wanted.source, partial(self._mark, index))
            for index, wanted in enumerate(self._partitions)
            if isinstance(wanted.source, Partition)
        ]
        deadline_ms = clock.monotonic_ms() + self._params.max_wait_ms
        timer = scheduler.call_at(deadline_ms, self._expire)
        for source, call in watches:
            source.watch(call)
        stopping.watch(self._expire)
        try:
            while not (self._has_expired or self.is_complete()):
                await self._wakeup.wait()
                self._wakeup.clear()
                self._read_marked()
        finally:
            timer.cancel()
            stopping.unwatch(self._expire)
            for source, call in watches:
                source.unwatch(call)

    def _read_marked(self) -> None:
        marked, self._marked = self._marked, set()
        for index in sorted(marked):
            self.read(index)

    def _mark(self, index: int) -> None:
        self._marked.add(index)
        self._wakeup.set()

    def _expire(self) -> None:
        self._has_expired = True
        self._wakeup.set()

    def _read(self, source: Partition, wanted: PartitionFetch) -> PartitionFetchResult:
        try:
            source.ensure_epoch(wanted.leader_epoch)
            divergence = source.find_divergence(wanted.last_epoch, wanted.offset)
            if divergence is not None:
                return PartitionFetchResult(source.empty_read(), divergence=divergence)
            return PartitionFetchResult(self._read_log(source, wanted))
        except KafkaError as error:
            return PartitionFetchResult(error=error)

    def _read_log(self, source: Partition, wanted: PartitionFetch) -> LogRead:
        left = max(0, min(wanted.max_bytes, self._params.max_bytes - self.bytes))
        read = source.read(
            wanted.offset,
            max_bytes=left,
            isolation=self._params.isolation,
            min_one=not self.bytes,
        )
        # Only the first batch of the whole response may exceed the limits.
        if read.is_first_incomplete and read.slice is not None:
            read.slice.release()
            return read._replace(slice=None)
        return read
