"""Scan over ordinary batches, for a fast recovery of the tail of a log.

    ordinary   v2, no control batch, part of no transaction, with a valid checksum, and with offsets
               above the previous ones and within reach
    notable    an ordinary batch that matters for recovery: the first of a higher leader epoch, and
               of each run of a producer's batches in one producer epoch the first and the last five
    entries    the entries of a segment's indexes, by the rule of
               `storage.segment.sparse_index_builder`

A scan ends before the first batch that is not ordinary, or at the end of the bytes. So it rejects
no batch: the caller handles the batch at the end as it would without scans. That is also the
oracle: without a scanner every batch is handled singly. `PlainTailScanner` is the kernels' twin; it
takes a third of the time of single handling, and needs no loading.

The effect of a producer's batches on its state depends on the last five alone, and an error on the
first. That does not hold in a transaction, so recovery does not scan while one is ongoing.
"""

from collections import deque
from struct import Struct
from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import INT64_MAX, Buffer, bytes_view, crc32c
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import (
    CONTROL_BIT,
    CRC_START,
    HEADER_SIZE,
    MAGIC,
    TRANSACTIONAL_BIT,
)

#: The number of a producer's last notable batches: as many as a producer's state keeps.
LAST_HEARD: Final = 5

_NOT_ORDINARY: Final = CONTROL_BIT | TRANSACTIONAL_BIT
# Base offset, length, leader epoch, magic, checksum, attributes, last delta, largest time, producer
# id and epoch.
_HEADER: Final = Struct(">qiibIhi8xqqh")


#: A shorter scan costs more than it saves; after one, N batches are handled singly.
SHORT_STRIDE: Final = 32
LONGEST_PAUSE: Final = 255


class ScanPacing:
    """Spacing of scans: at once after a long scan, later and later after short ones."""

    __slots__ = ("_left", "_pause")

    def __init__(self) -> None:
        self._left = self._pause = 0

    def is_due(self) -> bool:
        """Return whether to scan again after one more single batch."""
        self._left -= 1
        return self._left < 0

    def went(self, batches: int) -> None:
        """Record the length of a scan."""
        self._pause = min(2 * self._pause + 1, LONGEST_PAUSE) if batches < SHORT_STRIDE else 0
        self._left = self._pause


class ScanState(NamedTuple):
    """State from the earlier batches; the last four fields are the index builder's."""

    next_offset: int
    highest_offset: int
    interval_bytes: int
    bytes_since_entry: int
    latest_timestamp: int
    latest_offset: int


class ScannedIndexEntry(NamedTuple):
    """An entry of the offset index, and the latest time up to there."""

    last_offset: int
    position: int
    latest_timestamp: int
    latest_offset: int


class TailScan(NamedTuple):
    """The result of a scan: its end, its batch count, and the positions of notable batches."""

    end: int
    batches: int
    footing: ScanState
    heard: list[int]
    entries: list[ScannedIndexEntry]


class TailScanner(Protocol):
    """A scanner over buffers that begin with a batch; not thread-safe."""

    def stride(self, data: Buffer, footing: ScanState) -> TailScan:
        """Scan ordinary batches; stop early if there are too many notable ones."""


class TailScanners(Protocol):
    """A factory that returns a scanner where one pays."""

    def __call__(self, batches: int, /) -> TailScanner | None:
        """Return a scanner for about `batches` batches, or None: then handle each batch singly."""


def no_tail_scanner(batches: int) -> None:
    """Return None, so that every batch is handled singly."""


class PlainTailScanner:
    """A scanner in plain Python."""

    __slots__ = ()

    def stride(self, data: Buffer, footing: ScanState) -> TailScan:
        """Go over ordinary batches; see `TailScanner`."""
        view = bytes_view(data)
        next_offset, highest, interval, since, latest, latest_offset = footing
        highest = min(highest, INT64_MAX - 1)
        heard, entries = _NotableBatches(), list[ScannedIndexEntry]()
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
                entries.append(ScannedIndexEntry(last, at, latest, latest_offset))
                since = 0
            since += end - at
            at, next_offset, count = end, last + 1, count + 1
        after = ScanState(
            next_offset, footing.highest_offset, interval, since, latest, latest_offset
        )
        return TailScan(at, count, after, heard.all(), entries)


class _NotableBatches:
    """The notable batches of a scan."""

    __slots__ = ("_epoch", "_firsts", "_runs")

    def __init__(self) -> None:
        self._epoch = -1
        self._firsts: list[int] = []
        self._runs: dict[int, tuple[int, deque[int]]] = {}

    def see(self, position: int, *, epoch: int, producer: list[int]) -> None:
        """Add a batch with its leader epoch and producer; keep it if it is the first of a run."""
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
        """Return the positions of all notable batches, in order, once."""
        last = (position for _, run in self._runs.values() for position in run)
        return sorted({*self._firsts, *last})
