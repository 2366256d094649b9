"""Offset index of a segment: the positions of some batches by offset (Kafka: `OffsetIndex`).

    .index       8 bytes   0  i32  offset - base offset     the last offset of a batch
                           4  i32  position                 start of that batch in the .log

    example  base 45, offset 57 at position 1234: 0000000c 000004d2

The index is sparse: a lookup returns the position from which the log has to be searched.
"""

from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.storage.segment.abstract_index import (
    IndexEntries,
    IndexKey,
    IndexOrderError,
    SegmentOverflowError,
    check_offset,
    check_size,
    find_last_at_most,
    relative_offset,
)

OFFSET_ENTRY_SIZE: Final = 8

_ENTRY: Final = Struct(">ii")
_I32: Final = Struct(">i")
_RELATIVE_OFFSETS: Final = IndexKey(_I32, 0, OFFSET_ENTRY_SIZE)
_POSITIONS: Final = IndexKey(_I32, 4, OFFSET_ENTRY_SIZE)


class OffsetEntry(NamedTuple):
    """The batch that begins at `position` and ends with `offset` (Kafka: `OffsetPosition`)."""

    offset: int
    position: int


class OffsetIndex:
    """The offset entries of one segment."""

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: IndexEntries) -> None:
        self.base_offset = base_offset
        self.entries = entries

    @property
    def last(self) -> OffsetEntry:
        """The last entry; the segment's beginning if the index is empty."""
        count = self.entries.count
        return self.entry(count - 1) if count else OffsetEntry(self.base_offset, 0)

    def entry(self, number: int) -> OffsetEntry:
        """Return one entry, numbered from 0."""
        relative, position = _ENTRY.unpack_from(self.entries.read(number, 1))
        return OffsetEntry(self.base_offset + relative, position)

    def lookup(self, offset: int) -> OffsetEntry:
        """Return the last entry at or below `offset`; the segment's beginning without one."""
        number = find_last_at_most(
            self.entries, _RELATIVE_OFFSETS, target=offset - self.base_offset
        )
        return self.entry(number) if number >= 0 else OffsetEntry(self.base_offset, 0)

    def lookup_below_position(self, position: int) -> OffsetEntry:
        """Return the last entry whose batch begins below `position`; the beginning without one."""
        number = find_last_at_most(self.entries, _POSITIONS, target=position - 1)
        return self.entry(number) if number >= 0 else OffsetEntry(self.base_offset, 0)

    def find_upper_bound(self, entry: OffsetEntry, size: int) -> OffsetEntry | None:
        """Return the first entry at least `size` bytes after `entry`.

        Kafka: `OffsetIndex.fetchUpperBoundOffset`.
        """
        number = 1 + find_last_at_most(self.entries, _POSITIONS, target=entry.position + size - 1)
        return self.entry(number) if number < self.entries.count else None

    def count_below(self, offset: int) -> int:
        """Return the number of entries that a truncation to `offset` keeps."""
        target = offset - self.base_offset - 1
        return 1 + find_last_at_most(self.entries, _RELATIVE_OFFSETS, target=target)

    def encode(self, offset: int, position: int, *, after: OffsetEntry | None = None) -> bytes:
        """Return the bytes of an entry that follows the last one, or `after` if it is given."""
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
        return _ENTRY.pack(relative, position)

    def sanity_check(self) -> None:
        """Raise DamagedFileError if the number of entries or the last entry cannot be right."""
        check_size(self.entries, OFFSET_ENTRY_SIZE)
        position = (self.entries.count - 1) * OFFSET_ENTRY_SIZE
        check_offset(
            self.entries, self.last.offset, base_offset=self.base_offset, position=position
        )
