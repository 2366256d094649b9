"""The three indexes of a segment: decisions over entries, whoever holds the bytes.

    .index       8 bytes   0  i32  offset - base offset     the last offset of a batch
                           4  i32  position                 where that batch begins in the .log
    .timeindex  12 bytes   0  i64  timestamp                the latest of the segment up to here
                           8  i32  offset - base offset     the last offset of the batch that has it
    .txnindex   34 bytes   0  i16  version, 0
                           2  i64  producer id              whose transaction was aborted
                          10  i64  first offset             of its records
                          18  i64  last offset              of its marker
                          26  i64  last stable offset       once the abort has taken effect

    example  base 45, offset 57 at position 1234: 0000000c 000004d2
             the same offset at 1503229838908: 0000015dff7b063c 0000000c

Offsets, positions and timestamps increase strictly from entry to entry, so a lookup bisects. In a
file it does so over the first entries of whole 4 KiB blocks, which is what a disk reads anyway, and
then inside one block.
Few batches are indexed. An offset entry says where to begin to look; a time entry (T, O) says that
all records later than T come after O.
"""

from bisect import bisect_right
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.core.errors import CordwoodError, DamagedFileError

OFFSET_ENTRY_SIZE: Final = 8
TIME_ENTRY_SIZE: Final = 12
ABORTED_ENTRY_SIZE: Final = 34
BLOCK_SIZE: Final = 4096

_OFFSET: Final = Struct(">ii")
_TIME: Final = Struct(">qi")
# Kafka takes the first byte for the version, so no other byte is looked at.
_ABORTED: Final = Struct(">bxqqqq")
_I32: Final = Struct(">i")
_I64: Final = Struct(">q")

_REMEDY: Final = "remove it: indexes are rebuilt from the log when it is next opened"


class UnfitEntryError(CordwoodError):
    """An entry has no place in its index: the log and its indexes contradict each other."""


class IndexOrderError(UnfitEntryError):
    """An entry does not follow the one before it: the log's offsets or timestamps go back."""


class SegmentOverflowError(UnfitEntryError):
    """An offset or a position has no place in a segment: relative offsets have 31 bits."""


class OffsetEntry(NamedTuple):
    """The batch that begins at `position` and ends with `offset`."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """All records later than `timestamp` come after `offset`."""

    timestamp: int
    offset: int


class AbortedEntry(NamedTuple):
    """A transaction that was aborted by the marker at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Collected(NamedTuple):
    """The aborted transactions of one segment; not complete: the next segment has to be asked."""

    entries: tuple[AbortedEntry, ...]
    is_complete: bool


class Entries(Protocol):
    """The entries of one index file, wherever they are. All reads see the same entries."""

    @property
    def path(self) -> str:
        """The file, for errors."""

    @property
    def count(self) -> int:
        """How many whole entries there are to read."""

    @property
    def size(self) -> int:
        """How many bytes the entries come from; more than whole ones is damage."""

    @property
    def held(self) -> Buffer | None:
        """All bytes, when they are in memory. They are looked at during a call and not kept."""

    def read(self, first: int, count: int) -> Buffer:
        """Return the bytes of `count` entries; only those within `self.count` are asked for."""


class HeldEntries:
    """Entries whose bytes are at hand."""

    __slots__ = ("_entry_size", "count", "held", "path", "size")

    def __init__(self, data: Buffer, entry_size: int, *, path: str = "") -> None:
        self.path = path
        self.size = len(data)
        self.count = len(data) // entry_size
        self.held = memoryview(data)
        self._entry_size = entry_size

    def read(self, first: int, count: int) -> Buffer:
        return self.held[first * self._entry_size : (first + count) * self._entry_size]


class OffsetIndex:
    """Where to begin to look for an offset."""

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: Entries) -> None:
        self.base_offset = base_offset
        self.entries = entries

    @property
    def last(self) -> OffsetEntry:
        """The last entry; without any, the segment's beginning."""
        count = self.entries.count
        return self.entry(count - 1) if count else OffsetEntry(self.base_offset, 0)

    def entry(self, number: int) -> OffsetEntry:
        """Return one entry, from 0 on."""
        relative, position = _OFFSET.unpack_from(self.entries.read(number, 1))
        return OffsetEntry(self.base_offset + relative, position)

    def lookup(self, offset: int) -> OffsetEntry:
        """Return the last entry that is not above `offset`; else the segment's beginning."""
        number = _last_at_most(self.entries, _RELATIVE_OFFSETS, offset - self.base_offset)
        return self.entry(number) if number >= 0 else OffsetEntry(self.base_offset, 0)

    def below_position(self, position: int) -> OffsetEntry:
        """Return the last entry of a batch that begins below; else the segment's beginning."""
        number = _last_at_most(self.entries, _POSITIONS, position - 1)
        return self.entry(number) if number >= 0 else OffsetEntry(self.base_offset, 0)

    def upper_bound(self, entry: OffsetEntry, size: int) -> OffsetEntry | None:
        """Return the first entry at least `size` bytes behind `entry`."""
        number = 1 + _last_at_most(self.entries, _POSITIONS, entry.position + size - 1)
        return self.entry(number) if number < self.entries.count else None

    def count_below(self, offset: int) -> int:
        """Return how many entries stay when the log is cut before `offset`."""
        return 1 + _last_at_most(self.entries, _RELATIVE_OFFSETS, offset - self.base_offset - 1)

    def encode(self, offset: int, position: int, *, after: OffsetEntry | None = None) -> bytes:
        """Return the bytes of an entry that comes after the last one, or after `after`."""
        relative = relative_offset(offset, self.base_offset)
        before = self.last if after is None else after
        is_first = after is None and not self.entries.count
        if not is_first and offset <= before.offset:
            raise IndexOrderError(
                f"{self.entries.path}: offset {offset} cannot follow {before.offset}"
            )
        if not 0 <= position <= INT32_MAX:
            raise SegmentOverflowError(
                f"{self.entries.path}: position {position} is beyond 2 GiB; roll before it"
            )
        return _OFFSET.pack(relative, position)

    def check(self) -> None:
        """Refuse entries that cannot be right by their number and their last one."""
        _check_size(self.entries, OFFSET_ENTRY_SIZE)
        position = (self.entries.count - 1) * OFFSET_ENTRY_SIZE
        _check_offset(self.entries, self.last.offset, self.base_offset, position=position)


class TimeIndex:
    """Where to begin to look for a time."""

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: Entries) -> None:
        self.base_offset = base_offset
        self.entries = entries

    @property
    def last(self) -> TimeEntry:
        """The last entry; without any, no time at the segment's beginning."""
        count = self.entries.count
        return self.entry(count - 1) if count else TimeEntry(-1, self.base_offset)

    def entry(self, number: int) -> TimeEntry:
        """Return one entry, from 0 on."""
        timestamp, relative = _TIME.unpack_from(self.entries.read(number, 1))
        return TimeEntry(timestamp, self.base_offset + relative)

    def lookup(self, timestamp: int) -> TimeEntry:
        """Return the last entry that is not later; else no time at the segment's beginning."""
        number = _last_at_most(self.entries, _TIMESTAMPS, timestamp)
        return self.entry(number) if number >= 0 else TimeEntry(-1, self.base_offset)

    def count_below(self, offset: int) -> int:
        """Return how many entries stay when the log is cut before `offset`."""
        return 1 + _last_at_most(self.entries, _TIME_OFFSETS, offset - self.base_offset - 1)

    def encode(
        self, timestamp: int, offset: int, *, after: TimeEntry | None = None
    ) -> bytes | None:
        """Return the bytes of an entry that comes after the last one, or after `after`.

        None when it is not later than that: only what raises the maximum is kept.
        """
        relative = relative_offset(offset, self.base_offset)
        before = self.last if after is None else after
        is_first = after is None and not self.entries.count
        if not is_first and (offset < before.offset or timestamp < before.timestamp):
            raise IndexOrderError(
                f"{self.entries.path}: time {timestamp} at offset {offset} cannot follow "
                f"{before.timestamp} at {before.offset}"
            )
        return _TIME.pack(timestamp, relative) if timestamp > before.timestamp else None

    def check(self) -> None:
        """Refuse entries that cannot be right by their number, the first and the last one."""
        _check_size(self.entries, TIME_ENTRY_SIZE)
        if not self.entries.count:
            return
        first, last = self.entry(0), self.last
        position = (self.entries.count - 1) * TIME_ENTRY_SIZE
        if last.timestamp < first.timestamp:
            raise DamagedFileError(
                "the last time is before the first",
                path=self.entries.path,
                position=position,
                expected=f"at least {first.timestamp}",
                found=last.timestamp,
                remedy=_REMEDY,
            )
        _check_offset(self.entries, last.offset, self.base_offset, position=position)


class TransactionIndex:
    """The transactions whose abort markers are in a segment, in the order of the markers."""

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: Entries) -> None:
        self.base_offset = base_offset
        self.entries = entries

    @property
    def last(self) -> AbortedEntry | None:
        """The last entry, if there is one."""
        count = self.entries.count
        return next(self.read(count - 1)) if count else None

    def read(self, first: int = 0) -> Iterator[AbortedEntry]:
        """Yield the entries from number `first` on."""
        for number, data in _blocks(self.entries, ABORTED_ENTRY_SIZE, first):
            for step, (version, *fields) in enumerate(_ABORTED.iter_unpack(data)):
                if version:
                    raise DamagedFileError(
                        "an unknown version of an entry",
                        path=self.entries.path,
                        position=(number + step) * ABORTED_ENTRY_SIZE,
                        expected=0,
                        found=version,
                        remedy=_REMEDY,
                    )
                yield AbortedEntry(*fields)

    def collect(self, first_offset: int, end_offset: int) -> Collected:
        """Return what a reader of `first_offset` up to, not including, `end_offset` has to skip.

        Once everything before `end_offset` was decided at a marker, no later one says more.
        """
        found: list[AbortedEntry] = []
        for entry in self.read(self.count_below(first_offset)):
            if entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                return Collected(tuple(found), is_complete=True)
        return Collected(tuple(found), is_complete=False)

    def count_below(self, offset: int) -> int:
        """Return how many entries stay when the log is cut before `offset`."""
        return 1 + _last_at_most(self.entries, _MARKERS, offset - 1)

    def encode(self, entry: AbortedEntry) -> bytes:
        """Return the bytes of an entry that comes after the last one."""
        last = self.last
        if last is not None and entry.last_offset <= last.last_offset:
            raise IndexOrderError(
                f"{self.entries.path}: marker {entry.last_offset} cannot follow {last.last_offset}"
            )
        return _ABORTED.pack(0, *entry)

    def check(self) -> None:
        """Refuse a version that is unknown, a part of an entry, a marker of another segment."""
        _check_size(self.entries, ABORTED_ENTRY_SIZE)
        for number, entry in enumerate(self.read()):
            position = number * ABORTED_ENTRY_SIZE
            _check_offset(self.entries, entry.last_offset, self.base_offset, position=position)


def relative_offset(offset: int, base_offset: int) -> int:
    """Return an offset as a segment's indexes store it."""
    if not is_within_reach(offset, base_offset):
        raise SegmentOverflowError(
            f"offset {offset} has no place in a segment that begins at {base_offset}"
        )
    return offset - base_offset


def is_within_reach(offset: int, base_offset: int) -> bool:
    """Whether a segment's indexes can store an offset."""
    return 0 <= offset - base_offset <= INT32_MAX


def used_count(entries: Entries, entry_size: int) -> int:
    """Return how many entries come before the zeros that a preallocated file ends with.

    The first entry may be all zeros; no later one can.
    """
    zeros = bytes(entry_size)
    for number, data in _blocks(entries, entry_size, 1):
        block = bytes(data)
        at = block.find(zeros)
        while at >= 0:
            if at % entry_size == 0:
                return number + at // entry_size
            at = block.find(zeros, at + 1)
    return entries.count


class _Key(NamedTuple):
    """A field that increases from entry to entry."""

    field: Struct
    at: int
    entry_size: int


_RELATIVE_OFFSETS: Final = _Key(_I32, 0, OFFSET_ENTRY_SIZE)
_POSITIONS: Final = _Key(_I32, 4, OFFSET_ENTRY_SIZE)
_TIMESTAMPS: Final = _Key(_I64, 0, TIME_ENTRY_SIZE)
_TIME_OFFSETS: Final = _Key(_I32, 8, TIME_ENTRY_SIZE)
_MARKERS: Final = _Key(_I64, 18, ABORTED_ENTRY_SIZE)


def _last_at_most(entries: Entries, key: _Key, target: int) -> int:
    """Return the number of the last entry whose key is not above `target`; -1 without one."""
    held = entries.held
    if held is not None:
        return _last_inside(held, entries.count, key=key, target=target)
    unpack, count, step = key.field.unpack_from, entries.count, BLOCK_SIZE // key.entry_size
    low, high = 0, -(-count // step)
    block: Buffer = b""
    while low < high:
        middle = (low + high) // 2
        data = entries.read(middle * step, min(step, count - middle * step))
        if unpack(data, key.at)[0] <= target:
            low, block = middle + 1, data
        else:
            high = middle
    inside = _last_inside(block, len(block) // key.entry_size, key=key, target=target)
    return max(0, low - 1) * step + inside


def _last_inside(data: Buffer, count: int, *, key: _Key, target: int) -> int:
    """Return what `_last_at_most` does, of entries that are all at hand."""
    unpack, at, entry_size = key.field.unpack_from, key.at, key.entry_size
    above = bisect_right(
        range(count), target, key=lambda number: unpack(data, number * entry_size + at)[0]
    )
    return above - 1


def _blocks(entries: Entries, entry_size: int, first: int) -> Iterator[tuple[int, Buffer]]:
    """Yield the entries from number `first` on, some thousand bytes a time."""
    step = BLOCK_SIZE // entry_size
    for number in range(first, entries.count, step):
        yield number, entries.read(number, min(step, entries.count - number))


def _check_size(entries: Entries, entry_size: int) -> None:
    if entries.size % entry_size:
        raise DamagedFileError(
            "a part of an entry",
            path=entries.path,
            position=entries.size - entries.size % entry_size,
            expected=f"a multiple of {entry_size} bytes",
            found=entries.size,
            remedy=_REMEDY,
        )


def _check_offset(entries: Entries, offset: int, base_offset: int, *, position: int) -> None:
    if offset < base_offset:
        raise DamagedFileError(
            "an entry is from before its segment",
            path=entries.path,
            position=position,
            expected=f"offset {base_offset} or above",
            found=offset,
            remedy=_REMEDY,
        )
