"""Kernel of `records.state_scan`: headers of a run, plain markers, and the flags of its records.

    ranges      first and last offset of consecutive transactional batches
    markers     three words each, which are the 24 bytes of `records.state_scan` in native order
    producers   a producer id, and 1 for a transactional batch or 0 for a marker, in order

The kernel stops at a full table, and at a control batch of another form than the usual one, which
the plain reader reads.
"""

from typing import Final

import numpy as np

from cordwood.core.binary import Buffer, bytes_view
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.header_scan import kind_at
from cordwood.records.kernels.intrinsics import load_8, load_16, load_32, load_64, word_at
from cordwood.records.kernels.kernel_definition import (
    INT,
    SLAB,
    SOURCE,
    TABLE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import CONTROL_BIT, MAGIC, TRANSACTIONAL_BIT, RecordBatch
from cordwood.records.state_scan import ScanBounds, StateScan, pack_markers

W_POSITION = 0
W_START = 1
W_END = 2
W_NEXT = 3
W_IS_IN_RANGE = 4
W_RANGES = 5
W_MARKERS = 6
W_PRODUCERS = 7
SCAN_WORDS: Final = 8

DONE = 0
FULL = 1
UNUSUAL = 2

#: The rows of each table.
ROWS: Final = 4096
MARKER_WORDS: Final = 3

#: The size field of a batch with one marker, and the bytes of its record.
_MARKER_SIZE = 66
_RECORD_WORD = 0x2000_0000
_RECORD_KEY_SIZE = 8
_RECORD_VALUE_SIZE = 12
_CODEC_BITS = 7


@inlined
def _is_plain(source: Bytes, at: int) -> bool:
    """Return whether a control batch has the form of `read_plain_marker`."""
    if load_32(source, at + 8) != _MARKER_SIZE or load_16(source, at + 21) & _CODEC_BITS:
        return False
    if load_32(source, at + 57) != 1 or load_32(source, at + 61) != _RECORD_WORD:
        return False
    if load_8(source, at + 65) != _RECORD_KEY_SIZE or load_8(source, at + 70) != _RECORD_VALUE_SIZE:
        return False
    if load_16(source, at + 66) != 0 or load_16(source, at + 68) & ~1:
        return False
    return load_16(source, at + 71) >= 0 and load_8(source, at + 77) == 0


@inlined
def _put_marker(source: Bytes, at: int, marker: Words) -> None:
    marker[0], marker[1] = load_64(source, at), load_64(source, at + 43)
    marker[2] = (
        (load_16(source, at + 51) & 0xFFFF)
        | load_16(source, at + 68) << 16
        | load_32(source, at + 73) << 32
    )


@inlined
def _put_producer(producer: int, is_open: int, producers: Words, words: Words) -> None:
    """Add what a producer did, unless it is what it did last."""
    count = words[W_PRODUCERS]
    if count and producers[count - 1, 0] == producer and producers[count - 1, 1] == is_open:
        return
    producers[count, 0], producers[count, 1] = producer, is_open
    words[W_PRODUCERS] = count + 1


@inlined
def _put_data(source: Bytes, at: int, ranges: Words, producers: Words, words: Words) -> None:
    """Add a batch of data."""
    if not load_16(source, at + 21) & TRANSACTIONAL_BIT:
        words[W_IS_IN_RANGE] = 0
        return
    offset = load_64(source, at)
    if not words[W_IS_IN_RANGE]:
        ranges[words[W_RANGES], 0] = offset
        words[W_RANGES] += 1
        words[W_IS_IN_RANGE] = 1
    ranges[words[W_RANGES] - 1, 1] = offset + load_32(source, at + 23)
    if offset >= words[W_NEXT]:
        _put_producer(load_64(source, at + 43), 1, producers, words)


@inlined
def _put_marker_of(source: Bytes, at: int, markers: Words, producers: Words, words: Words) -> bool:
    """Add a control batch; return False for one of another form than the usual one."""
    if not max(words[W_START], words[W_NEXT]) <= load_64(source, at) < words[W_END]:
        return True
    if not _is_plain(source, at):
        return False
    _put_marker(source, at, markers[words[W_MARKERS]])
    words[W_MARKERS] += 1
    _put_producer(load_64(source, at + 43), 0, producers, words)
    return True


@kernel(INT, SOURCE, TABLE.of(2), TABLE.of(MARKER_WORDS), TABLE.of(2), WORDS.of(SCAN_WORDS))
def scan_states(
    source: Bytes, ranges: Words, markers: Words, producers: Words, words: Words
) -> int:
    """Scan batches up to a full table, an unusual control batch, or the end of the run."""
    room = min(len(ranges), len(markers), len(producers))
    while kind_at(source, words[W_POSITION]) >= 0:
        at = words[W_POSITION]
        if load_8(source, at + 16) != MAGIC:
            words[W_IS_IN_RANGE] = 0
        elif load_32(source, at + 57) != 0:
            if max(words[W_RANGES], words[W_MARKERS], words[W_PRODUCERS]) >= room:
                return FULL
            if not load_16(source, at + 21) & CONTROL_BIT:
                _put_data(source, at, ranges, producers, words)
            elif not _put_marker_of(source, at, markers, producers, words):
                return UNUSUAL
            words[W_NEXT] = max(words[W_NEXT], load_64(source, at) + 1)
        words[W_POSITION] = at + load_32(source, at + 8) + LOG_OVERHEAD
    return DONE


@kernel(INT, SOURCE, TABLE.of(2), INT, SLAB)
def mark_transactional(offsets: Bytes, ranges: Words, at: int, flags: Bytes) -> int:
    """Write a flag for each offset; return the range that the next offset may be in."""
    at = max(at, 0)
    for row in range(min(len(flags), len(offsets) // 8)):
        offset = word_at(offsets, row * 8)
        while at < len(ranges) and ranges[at, 1] < offset:
            at += 1
        flags[row] = 1 if at < len(ranges) and ranges[at, 0] <= offset else 0
    return at


class KernelStateScanner:
    """A scanner with kernels; keeps its tables."""

    __slots__ = ("_markers", "_producers", "_ranges", "_words")

    def __init__(self) -> None:
        self._ranges = np.zeros((ROWS, 2), np.int64)
        self._markers = np.zeros((ROWS, MARKER_WORDS), np.int64)
        self._producers = np.zeros((ROWS, 2), np.int64)
        self._words = np.zeros(SCAN_WORDS, np.int64)

    def scan(self, data: Buffer, bounds: ScanBounds) -> StateScan:
        """Scan table by table; see `StateScanner`."""
        view, words = bytes_view(data), self._words
        source, markers = read_only(view), bytearray()
        opened, ended, ranges = set[int](), set[int](), list[Words]()
        words[:] = 0
        words[W_START : W_NEXT + 1] = bounds
        while True:
            status = scan_states(source, self._ranges, self._markers, self._producers, words)
            markers += self._markers[: words[W_MARKERS]].tobytes()
            ranges.append(self._ranges[: words[W_RANGES]].copy())
            self._put_sides(opened, ended)
            words[W_IS_IN_RANGE : W_PRODUCERS + 1] = 0
            if status == UNUSUAL:
                markers += self._read_unusual(RecordBatch(view, int(words[W_POSITION])))
            elif status == DONE:
                flags = _KernelFlags(np.concatenate(ranges))
                return StateScan(int(words[W_NEXT]), flags, bytes(markers), opened, ended)

    def _put_sides(self, opened: set[int], ended: set[int]) -> None:
        """Add the last word on each producer in the table."""
        latest = self._producers[: self._words[W_PRODUCERS]][::-1]
        producers, first = np.unique(latest[:, 0], return_index=True)
        is_open = latest[first, 1] == 1
        for side, other, is_here in ((opened, ended, is_open), (ended, opened, ~is_open)):
            found = producers[is_here].tolist()
            side.update(found)
            other.difference_update(found)

    def _read_unusual(self, batch: RecordBatch) -> bytes:
        """Read a control batch as the plain scanner does, and go past it."""
        found, words = pack_markers(batch), self._words
        words[W_POSITION] = batch.end
        words[W_NEXT] = batch.base_offset + 1
        if found.has_end:
            self._producers[0] = batch.producer_id, 0
            words[W_PRODUCERS] = 1
        return found.packed


class _KernelFlags:
    """The transactional batches of a run, from the one that the next record may be in."""

    __slots__ = ("_at", "_ranges")

    def __init__(self, ranges: Words) -> None:
        self._ranges, self._at = ranges, 0

    def take(self, offsets: memoryview) -> memoryview:
        """Return the flags of the next records; see `TransactionFlags`."""
        source = read_only(offsets)
        flags = np.empty(len(source) // 8, np.uint8)
        self._at = int(mark_transactional(source, self._ranges, self._at, flags))
        return flags.data
