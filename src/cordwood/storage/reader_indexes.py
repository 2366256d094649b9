"""The indexes of a segment that somebody else owns: read block by block, and held against the log.

    exact     the file ends with an entry: nothing but the blocks of a lookup is read
    growing   the file ends with zeros: its entries end at the first one that is all zeros, but for
              the very first one, which may be

An entry counts only if the log has, at the place it names, what it names: an index may be left over
from before a crash, be damaged, or belong to the segment that has just been swapped in. One that
does not count is no entry at all, and the search begins where the segment does.
"""

from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import SegmentSource
from cordwood.storage.index import (
    Entries,
    HeldEntries,
    OffsetEntry,
    OffsetIndex,
    TimeEntry,
    TimeIndex,
    used_count,
)
from cordwood.storage.reader_listing import SegmentChangedError
from cordwood.storage.scan import Pread, batch_with


class RangedEntries:
    """The entries of a file that is read through a source; as many as it had when it was opened."""

    __slots__ = ("_entry_size", "_name", "_source", "count", "held", "path", "size")

    def __init__(self, source: SegmentSource, name: str, *, entry_size: int, size: int) -> None:
        self.path = f"{source.path}/{name}"
        self.size = size
        self.count = size // entry_size
        self.held = None
        self._entry_size = entry_size
        self._name = name
        self._source = source

    def read(self, first: int, count: int) -> bytes:
        length = count * self._entry_size
        data = self._source.read(self._name, length, first * self._entry_size)
        if len(data) < length:
            raise SegmentChangedError(f"{self.path} has been cut")
        return data


def open_entries(source: SegmentSource, name: str, *, entry_size: int) -> Entries:
    """Return the entries of a file; none if there is no file."""
    try:
        size = source.stat(name).size
        entries = RangedEntries(source, name, entry_size=entry_size, size=size)
        if entries.count > 1 and not any(entries.read(entries.count - 1, 1)):
            entries.count = used_count(entries, entry_size)
    except FileNotFoundError:
        return HeldEntries(b"", entry_size, path=f"{source.path}/{name}")
    return entries


class CheckedOffsetIndex(OffsetIndex):
    """An offset index whose entries are looked up in the log before they are believed."""

    __slots__ = ("_pread", "_size")

    def __init__(self, base_offset: int, entries: Entries, *, pread: Pread, size: int) -> None:
        super().__init__(base_offset, entries)
        self._pread = pread
        self._size = size

    def lookup(self, offset: int) -> OffsetEntry:
        return self._checked(super().lookup(offset))

    def below_position(self, position: int) -> OffsetEntry:
        return self._checked(super().below_position(position))

    def _checked(self, entry: OffsetEntry) -> OffsetEntry:
        return entry if self._is_true(entry) else OffsetEntry(self.base_offset, 0)

    def _is_true(self, entry: OffsetEntry) -> bool:
        """Whether a batch that ends with the offset is at the place.

        Kafka before 4.1 indexed a set of batches by its beginning and its last batch's offset.
        """
        if not 0 < entry.position < self._size:
            return entry.position == 0
        try:
            found = batch_with(self._pread, entry.position, self._size, offset=entry.offset)
        except CorruptMessageError:
            return False
        return found is not None and found.last_offset == entry.offset


class CheckedTimeIndex(TimeIndex):
    """A time index whose entries are looked up in the log before they are believed."""

    __slots__ = ("_offset_index", "_pread", "_size")

    def __init__(
        self, entries: Entries, offset_index: CheckedOffsetIndex, *, pread: Pread, size: int
    ) -> None:
        super().__init__(offset_index.base_offset, entries)
        self._offset_index = offset_index
        self._pread = pread
        self._size = size

    @property
    def last(self) -> TimeEntry:
        return self._checked(super().last)

    def lookup(self, timestamp: int) -> TimeEntry:
        return self._checked(super().lookup(timestamp))

    def _checked(self, entry: TimeEntry) -> TimeEntry:
        is_true = entry.timestamp < 0 or self._is_true(entry)
        return entry if is_true else TimeEntry(-1, self.base_offset)

    def _is_true(self, entry: TimeEntry) -> bool:
        """Whether the batch that holds the offset has the time."""
        begin = self._offset_index.lookup(entry.offset).position
        try:
            found = batch_with(self._pread, begin, self._size, offset=entry.offset)
        except CorruptMessageError:
            return False
        return found is not None and found.max_timestamp == entry.timestamp
