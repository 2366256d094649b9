"""Time index of a segment: the largest timestamps up to some offsets (Kafka: `TimeIndex`).

    .timeindex  12 bytes   0  i64  timestamp                the largest of the segment up to here
                           8  i32  offset - base offset     the last offset of the batch that has it

    example  base 45, offset 57 at 1503229838908: 0000015dff7b063c 0000000c

The index is sparse: an entry (T, O) states that all records later than T come after O.
"""

from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.errors import DamagedFileError
from cordwood.storage.segment.abstract_index import (
    REMEDY,
    IndexEntries,
    IndexKey,
    IndexOrderError,
    check_offset,
    check_size,
    find_last_at_most,
    relative_offset,
)

TIME_ENTRY_SIZE: Final = 12

_ENTRY: Final = Struct(">qi")
_TIMESTAMPS: Final = IndexKey(Struct(">q"), 0, TIME_ENTRY_SIZE)
_RELATIVE_OFFSETS: Final = IndexKey(Struct(">i"), 8, TIME_ENTRY_SIZE)


class TimeEntry(NamedTuple):
    """All records later than `timestamp` come after `offset` (Kafka: `TimestampOffset`)."""

    timestamp: int
    offset: int


class TimeIndex:
    """The time entries of one segment."""

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: IndexEntries) -> None:
        self.base_offset = base_offset
        self.entries = entries

    @property
    def last(self) -> TimeEntry:
        """The last entry; timestamp -1 at the segment's beginning if the index is empty."""
        count = self.entries.count
        return self.entry(count - 1) if count else TimeEntry(-1, self.base_offset)

    def entry(self, number: int) -> TimeEntry:
        """Return one entry, numbered from 0."""
        timestamp, relative = _ENTRY.unpack_from(self.entries.read(number, 1))
        return TimeEntry(timestamp, self.base_offset + relative)

    def lookup(self, timestamp: int) -> TimeEntry:
        """Return the last entry at or before `timestamp`.

        Without one, timestamp -1 at the segment's beginning.
        """
        number = find_last_at_most(self.entries, _TIMESTAMPS, target=timestamp)
        return self.entry(number) if number >= 0 else TimeEntry(-1, self.base_offset)

    def count_below(self, offset: int) -> int:
        """Return the number of entries that a truncation to `offset` keeps."""
        target = offset - self.base_offset - 1
        return 1 + find_last_at_most(self.entries, _RELATIVE_OFFSETS, target=target)

    def encode(
        self, timestamp: int, offset: int, *, after: TimeEntry | None = None
    ) -> bytes | None:
        """Return the bytes of an entry that follows the last one, or `after` if it is given.

        None if the timestamp is not later: the index stores only increases of the maximum.
        """
        relative = relative_offset(offset, self.base_offset)
        before = self.last if after is None else after
        is_first = after is None and not self.entries.count
        if not is_first and (offset < before.offset or timestamp < before.timestamp):
            raise IndexOrderError(
                f"{self.entries.path}: timestamp {timestamp} at offset {offset} cannot follow "
                f"{before.timestamp} at {before.offset}"
            )
        return _ENTRY.pack(timestamp, relative) if timestamp > before.timestamp else None

    def sanity_check(self) -> None:
        """Raise DamagedFileError if the number of entries, the first or the last is wrong."""
        check_size(self.entries, TIME_ENTRY_SIZE)
        if not self.entries.count:
            return
        first, last = self.entry(0), self.last
        position = (self.entries.count - 1) * TIME_ENTRY_SIZE
        if last.timestamp < first.timestamp:
            raise DamagedFileError(
                "the last timestamp is before the first",
                path=self.entries.path,
                position=position,
                expected=f"at least {first.timestamp}",
                found=last.timestamp,
                remedy=REMEDY,
            )
        check_offset(self.entries, last.offset, base_offset=self.base_offset, position=position)
