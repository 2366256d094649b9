"""What one fetch reads: over any number of partitions, within its bytes, and not before there is
enough, or a reason not to wait for it.

    at once    it may not wait, or there are `min_bytes`; a partition has an error to tell, is no
               longer what the reader has read, or goes on in a later segment, where only the next
               fetch gets; nothing is asked for that could have more
    later      as soon as that is so, when the time is over, or when the connection comes to its end

All partitions are read once, in their order, each within what those before it have left. Who waits
is called by the partitions in which something happened, and only those are read again. The first
batch of all comes whole, however large it is; a batch further on comes whole or not at all.

A partition that nobody knows hastens nothing: its reader would ask again at once, and again.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from cordwood.broker.network import Network
from cordwood.broker.partition import Partition
from cordwood.broker.stopping import Stopping
from cordwood.core.errors import KafkaError
from cordwood.core.types import NO_LEADER_EPOCH
from cordwood.storage.epochs import EpochEnd
from cordwood.storage.reading import Isolation, LogRead

_READ_COMMITTED: Final = 1


class Wanted(NamedTuple):
    """From where one partition is to be read; `source` is the error where it cannot be."""

    source: Partition | KafkaError
    offset: int
    max_bytes: int
    leader_epoch: int = NO_LEADER_EPOCH
    last_epoch: int = NO_LEADER_EPOCH


class Limits(NamedTuple):
    """How much to read in all, how long to wait for how much, and how far to see."""

    max_bytes: int
    min_bytes: int
    max_wait_ms: int
    isolation: Isolation = Isolation.HIGH_WATERMARK


class Found(NamedTuple):
    """What came of one partition: an error, or what was read, or where its log was left."""

    read: LogRead | None = None
    error: KafkaError | None = None
    divergence: EpochEnd | None = None

    @property
    def length(self) -> int:
        return self.read.length if self.read is not None else 0

    @property
    def is_urgent(self) -> bool:
        """Whether waiting makes no more of it."""
        return self.read is None or self.divergence is not None or self.read.goes_on

    def release(self) -> None:
        """Let go of what was read, as nobody will send it."""
        if self.read is not None and self.read.slice is not None:
            self.read.slice.release()


_UNREAD: Final = Found()


def isolation_of(level: int) -> Isolation:
    """Return how far a consumer may see that asks with Kafka's number for it."""
    return Isolation.COMMITTED if level == _READ_COMMITTED else Isolation.HIGH_WATERMARK


async def fetch(
    wanted: Sequence[Wanted], limits: Limits, *, network: Network, stopping: Stopping
) -> list[Found]:
    """Return what is found of each partition, when it is time to; the slices are the caller's."""
    reading = _Reading(wanted, limits)
    try:
        for index in range(len(wanted)):
            reading.read(index)
        if limits.max_wait_ms > 0 and not reading.is_done():
            await reading.wait(network, stopping)
        reading.count()
    except BaseException:
        release(reading.found)
        raise
    return reading.found


def release(found: Sequence[Found]) -> None:
    """Let go of all that was read."""
    for each in found:
        each.release()


class _Reading:
    """A fetch under way: what was found last of each partition, and the bytes of all together."""

    __slots__ = (
        "_is_over",
        "_is_urgent",
        "_limits",
        "_moved",
        "_stirred",
        "_wanted",
        "bytes",
        "found",
    )

    def __init__(self, wanted: Sequence[Wanted], limits: Limits) -> None:
        self._wanted = wanted
        self._limits = limits
        self.found = [_UNREAD] * len(wanted)
        self.bytes = 0
        self._moved: set[int] = set()
        self._stirred = asyncio.Event()
        self._is_over = False
        self._is_urgent = not any(isinstance(each.source, Partition) for each in wanted)

    def read(self, index: int) -> None:
        """Read one partition, again if it has been read before."""
        before = self.found[index]
        self.bytes -= before.length
        self.found[index] = _UNREAD
        before.release()
        wanted = self._wanted[index]
        if isinstance(wanted.source, Partition):
            found = self._read(wanted.source, wanted)
            self._is_urgent |= found.is_urgent
        else:
            found = Found(error=wanted.source)
        self.found[index] = found
        self.bytes += found.length

    def is_done(self) -> bool:
        """Whether there is nothing that is worth waiting for."""
        return self._is_urgent or self.bytes >= self._limits.min_bytes

    def count(self) -> None:
        """Count what is handed out."""
        for wanted, found in zip(self._wanted, self.found, strict=True):
            if found.length and isinstance(wanted.source, Partition):
                wanted.source.traffic.handed_out(found.length)

    async def wait(self, network: Network, stopping: Stopping) -> None:
        """Read what moves, until that is enough or the time is over."""
        watches = [
            (wanted.source, partial(self._move, index))
            for index, wanted in enumerate(self._wanted)
            if isinstance(wanted.source, Partition)
        ]
        until_ms = network.clock.monotonic_ms() + self._limits.max_wait_ms
        timer = network.scheduler.call_at(until_ms, self._end)
        for source, call in watches:
            source.watch(call)
        stopping.watch(self._end)
        try:
            while not (self._is_over or self.is_done()):
                await self._stirred.wait()
                self._stirred.clear()
                self._read_moved()
        finally:
            timer.cancel()
            stopping.unwatch(self._end)
            for source, call in watches:
                source.unwatch(call)

    def _read_moved(self) -> None:
        moved, self._moved = self._moved, set()
        for index in sorted(moved):
            self.read(index)

    def _move(self, index: int) -> None:
        self._moved.add(index)
        self._stirred.set()

    def _end(self) -> None:
        self._is_over = True
        self._stirred.set()

    def _read(self, source: Partition, wanted: Wanted) -> Found:
        try:
            source.ensure_epoch(wanted.leader_epoch)
            divergence = source.divergence(wanted.last_epoch, wanted.offset)
            if divergence is not None:
                return Found(source.nothing_new(), divergence=divergence)
            return Found(self._read_log(source, wanted))
        except KafkaError as error:
            return Found(error=error)

    def _read_log(self, source: Partition, wanted: Wanted) -> LogRead:
        left = max(0, min(wanted.max_bytes, self._limits.max_bytes - self.bytes))
        read = source.read(
            wanted.offset,
            max_bytes=left,
            isolation=self._limits.isolation,
            min_one=not self.bytes,
        )
        if read.is_first_incomplete and read.slice is not None:
            read.slice.release()
            return read._replace(slice=None)
        return read
