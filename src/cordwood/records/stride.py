"""A stride over batches of which hardly anything has to be known: what recovery passes fast.

    ordinary   v2, no control batch, part of no transaction; as it was written, by its checksum; its
               offsets above those before it and within reach
    heard      an ordinary batch that has something to say: the first of a leader epoch above those
               before it, and of each run of a producer's batches in one producer epoch the first
               and the last five
    entries    what goes into the indexes of a segment, by the rule of `storage.index_growth`

A stride ends before the first batch that is not ordinary, at the latest where the bytes do. So it
refuses nothing: whoever strides looks at the batch at the end as if there were no strides. That is
also the oracle: without a strider every batch is looked at. `PlainStrider` is the kernels' twin; it
takes a third of the time that looking does, and nothing has to be loaded for it.

What a producer's batches do to its state, once they are in the log, depends on the last five alone,
and whether something is wrong with them on the first. That is not so in a transaction, so nobody
strides while one is open.
"""

from collections import deque
from struct import Struct
from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import INT64_MAX, Buffer, bytes_view, crc32c
from cordwood.records.batch import (
    CONTROL_BIT,
    CRC_START,
    HEADER_SIZE,
    MAGIC,
    TRANSACTIONAL_BIT,
)
from cordwood.records.message import LOG_OVERHEAD

#: As many of a producer's last batches are heard of: as many as are remembered of a producer.
LAST_HEARD: Final = 5

_NOT_ORDINARY: Final = CONTROL_BIT | TRANSACTIONAL_BIT
# Base offset, length, leader epoch, magic, checksum, attributes, last delta, largest time, producer
# id and epoch.
_HEADER: Final = Struct(">qiibIhi8xqqh")


#: A stride over fewer batches costs more than it saves; so many are looked at before another.
SHORT_STRIDE: Final = 32
LONGEST_PAUSE: Final = 255


class Pace:
    """When to stride again: at once after a long stride, later and later after short ones."""

    __slots__ = ("_left", "_pause")

    def __init__(self) -> None:
        self._left = self._pause = 0

    def is_due(self) -> bool:
        """Whether to stride after one more batch that was looked at."""
        self._left -= 1
        return self._left < 0

    def went(self, batches: int) -> None:
        """Take account of a stride over so many batches."""
        self._pause = min(2 * self._pause + 1, LONGEST_PAUSE) if batches < SHORT_STRIDE else 0
        self._left = self._pause


class Footing(NamedTuple):
    """What the batches before have led to; the last four are those of an index in the making."""

    next_offset: int
    highest_offset: int
    interval_bytes: int
    bytes_since_entry: int
    latest_timestamp: int
    latest_offset: int


class StrideEntry(NamedTuple):
    """An entry of the offset index, and the latest time up to there."""

    last_offset: int
    position: int
    latest_timestamp: int
    latest_offset: int


class Stride(NamedTuple):
    """Where it ended, over how many batches it went, and who is to be heard, by position."""

    end: int
    batches: int
    footing: Footing
    heard: list[int]
    entries: list[StrideEntry]


class Strider(Protocol):
    """Goes over buffers that begin with a batch; not to be shared between threads."""

    def stride(self, data: Buffer, footing: Footing) -> Stride:
        """Go over ordinary batches; not over all of them where there is too much to tell."""


class Striders(Protocol):
    """Gives a strider where one pays."""

    def __call__(self, batches: int, /) -> Strider | None:
        """Return one for about so many batches; None: each is to be looked at."""


def no_strider(batches: int) -> None:
    """Let every batch be looked at."""


class PlainStrider:
    """Strides in plain Python."""

    __slots__ = ()

    def stride(self, data: Buffer, footing: Footing) -> Stride:
        """Go over ordinary batches; see `Strider`."""
        view = bytes_view(data)
        next_offset, highest, interval, since, latest, latest_offset = footing
        highest = min(highest, INT64_MAX - 1)
        heard, entries = _Heard(), list[StrideEntry]()
        at = count = 0
        while at + HEADER_SIZE <= len(view):
            base, length, epoch, magic, crc, attributes, delta, timestamp, *producer = (
                _HEADER.unpack_from(view, at)
            )
            end, last = at + LOG_OVERHEAD + length, base + delta
            is_whole = magic == MAGIC and at + HEADER_SIZE <= end <= len(view)
            follows = next_offset <= base <= last <= highest
            if not is_whole or not follows or attributes & _NOT_ORDINARY:
                break
            if crc32c(view[at + CRC_START : end]) != crc:
                break
            heard.see(at, epoch=epoch, producer=producer)
            if timestamp > latest:
                latest, latest_offset = timestamp, last
            if since > interval:
                entries.append(StrideEntry(last, at, latest, latest_offset))
                since = 0
            since += end - at
            at, next_offset, count = end, last + 1, count + 1
        after = Footing(next_offset, footing.highest_offset, interval, since, latest, latest_offset)
        return Stride(at, count, after, heard.all(), entries)


class _Heard:
    """Which batches of a stride have something to say."""

    __slots__ = ("_epoch", "_firsts", "_runs")

    def __init__(self) -> None:
        self._epoch = -1
        self._firsts: list[int] = []
        self._runs: dict[int, tuple[int, deque[int]]] = {}

    def see(self, position: int, *, epoch: int, producer: list[int]) -> None:
        """Note a batch of a producer's id and epoch; hear of it if it is the first of something."""
        producer_id, producer_epoch = producer
        if epoch > self._epoch:
            self._epoch = epoch
            self._firsts.append(position)
        if producer_id < 0:
            return
        run = self._runs.get(producer_id)
        if run is not None and run[0] == producer_epoch:
            run[1].append(position)
            return
        if run is not None:
            self._firsts += run[1]
        self._firsts.append(position)
        self._runs[producer_id] = producer_epoch, deque(maxlen=LAST_HEARD)

    def all(self) -> list[int]:
        """Return the positions of all that is heard, in order, once."""
        last = (position for _, run in self._runs.values() for position in run)
        return sorted({*self._firsts, *last})
