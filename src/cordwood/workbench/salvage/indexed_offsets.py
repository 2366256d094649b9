"""Offsets in the indexes of a segment, as witnesses of the base offsets of its batches.

    .timeindex   i64 timestamp, i32 relative offset: of the batch with that latest timestamp
    .index       i32 relative offset, i32 position: of the batch at that position

Brokers before 4.1 write one entry for several batches: the last offset, and the first position. So
a batch may begin behind the position of its entry, and never before it: then bytes are missing.
"""

from bisect import bisect_left
from contextlib import suppress
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.ports import Files
from cordwood.core.types import Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import read_whole
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch

_TIME_ENTRY: Final = Struct(">qi")
_POSITION_ENTRY: Final = Struct(">ii")


class IndexedOffsets(NamedTuple):
    """The entries of both indexes of a segment."""

    base: int = 0
    times: bytes = b""
    positions: bytes = b""

    def has_between(self, header: BatchHeader, first: int, *, end: int | None) -> bool:
        """Return whether an index has an offset for a batch in a range; `end` is excluded."""
        limit = (INT64_MAX if end is None else end) - self.base
        start = first - self.base
        return start < limit and (
            _has_time(self.times, header.max_timestamp, start, limit)
            or _has_position(self.positions, header.position, start, limit)
        )

    @property
    def end(self) -> int:
        """The offset behind the last one that an index has; the base offset without any."""
        lasts = (
            entry.unpack_from(data, len(data) - entry.size)[place]
            for data, entry, place in (
                (self.times, _TIME_ENTRY, 1),
                (self.positions, _POSITION_ENTRY, 0),
            )
            if data
        )
        return self.base + max(lasts, default=-1) + 1

    def missing_bytes(self, batch: SalvagedBatch) -> int:
        """Return how many bytes are missing before a batch by its entry; 0 without one."""
        data = self.positions
        at = bisect_left(
            range(len(data) // _POSITION_ENTRY.size),
            batch.offset - self.base,
            key=lambda at: _POSITION_ENTRY.unpack_from(data, at * _POSITION_ENTRY.size)[0],
        )
        if at * _POSITION_ENTRY.size == len(data):
            return 0
        offset, position = _POSITION_ENTRY.unpack_from(data, at * _POSITION_ENTRY.size)
        is_own = offset + self.base <= batch.last_offset
        return max(0, position - batch.header.position) if is_own else 0


def indexed_offsets(files: Files, source: str, *, base: int) -> IndexedOffsets:
    """Read the indexes of a segment; a missing one has no entries."""
    found = []
    for extension, entry in ((names.TIME_INDEX, _TIME_ENTRY), (names.INDEX, _POSITION_ENTRY)):
        data = b""
        with suppress(FileNotFoundError):
            data = read_whole(files, f"{source}/{names.segment_name(Offset(base), extension)}")
        # An index is allocated in advance, with zeros.
        count = -(-len(data.rstrip(b"\0")) // entry.size)
        found.append(data[: min(count, len(data) // entry.size) * entry.size])
    return IndexedOffsets(base, *found)


def _has_time(data: bytes, timestamp: int, first: int, end: int) -> bool:
    count = len(data) // _TIME_ENTRY.size
    at = bisect_left(
        range(count), first, key=lambda at: _TIME_ENTRY.unpack_from(data, at * _TIME_ENTRY.size)[1]
    )
    while at < count:
        time, offset = _TIME_ENTRY.unpack_from(data, at * _TIME_ENTRY.size)
        if offset >= end:
            return False
        if time == timestamp:
            return True
        at += 1
    return False


def _has_position(data: bytes, position: int, first: int, end: int) -> bool:
    """Return whether the entry of a position has an offset in a range; positions ascend."""
    count = len(data) // _POSITION_ENTRY.size
    at = bisect_left(
        range(count),
        position,
        key=lambda at: _POSITION_ENTRY.unpack_from(data, at * _POSITION_ENTRY.size)[1],
    )
    if at == count:
        return False
    offset, found = _POSITION_ENTRY.unpack_from(data, at * _POSITION_ENTRY.size)
    return bool(found == position and first <= offset < end)
