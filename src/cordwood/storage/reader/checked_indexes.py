"""Indexes of a segment that another process owns, checked against its log at every lookup.

    trimmed   the file ends with an entry: only the blocks of a lookup are read
    growing   the file ends with zeros: the entries end at the first one that is all zeros. The very
              first entry may be all zeros

An entry counts only if the log has a matching batch at its position. An index may be older than a
crash, be damaged, or belong to a segment that was just swapped in. If an entry does not match, the
lookup starts at the beginning of the segment.
"""

from collections.abc import Sequence

from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import SegmentSource
from cordwood.storage.files.header_scan import Pread, find_batch
from cordwood.storage.reader.segment_listing import SegmentChangedError
from cordwood.storage.segment.abstract_index import IndexEntries, InMemoryEntries, count_used
from cordwood.storage.segment.offset_index import OffsetEntry, OffsetIndex
from cordwood.storage.segment.time_index import TimeEntry, TimeIndex


class SourceEntries:
    """The entries of a file of a source; their number is that at the time of opening."""

    __slots__ = ("_entry_size", "_name", "_source", "count", "in_memory", "path", "size")

    def __init__(self, source: SegmentSource, name: str, *, entry_size: int, size: int) -> None:
        self.path = f"{source.path}/{name}"
        self.size = size
        self.count = size // entry_size
        self.in_memory = None
        self._entry_size = entry_size
        self._name = name
        self._source = source

    def read(self, first: int, count: int) -> bytes:
        length = count * self._entry_size
        data = self._source.read(self._name, length, first * self._entry_size)
        if len(data) < length:
            raise SegmentChangedError(f"{self.path} has been truncated")
        return data


def open_entries(source: SegmentSource, names: Sequence[str], *, entry_size: int) -> IndexEntries:
    """Return the entries of the first file that exists; none without one."""
    for each in names:
        try:
            size = source.stat(each).size
            entries = SourceEntries(source, each, entry_size=entry_size, size=size)
            if entries.count > 1 and not any(entries.read(entries.count - 1, 1)):
                entries.count = count_used(entries, entry_size)
        except FileNotFoundError:
            continue
        return entries
    return InMemoryEntries(b"", entry_size, path=f"{source.path}/{names[0]}")


class CheckedOffsetIndex(OffsetIndex):
    """An offset index that checks its entries against the log."""

    __slots__ = ("_pread", "_size")

    def __init__(self, base_offset: int, entries: IndexEntries, *, pread: Pread, size: int) -> None:
        super().__init__(base_offset, entries)
        self._pread = pread
        self._size = size

    def lookup(self, offset: int) -> OffsetEntry:
        return self._checked(super().lookup(offset))

    def lookup_below_position(self, position: int) -> OffsetEntry:
        return self._checked(super().lookup_below_position(position))

    def _checked(self, entry: OffsetEntry) -> OffsetEntry:
        return entry if self._is_valid(entry) else OffsetEntry(self.base_offset, 0)

    def _is_valid(self, entry: OffsetEntry) -> bool:
        """Return whether the log has a batch with the entry's last offset from its position on."""
        # Kafka before 4.1 indexed a set of batches by its position and its last batch's offset, so
        # the batch may be a later one.
        if not 0 < entry.position < self._size:
            return entry.position == 0
        try:
            found = find_batch(self._pread, entry.position, self._size, offset=entry.offset)
        except CorruptMessageError:
            return False
        return found is not None and found.last_offset == entry.offset


class CheckedTimeIndex(TimeIndex):
    """A time index that checks its entries against the log."""

    __slots__ = ("_offset_index", "_pread", "_size")

    def __init__(
        self, entries: IndexEntries, offset_index: CheckedOffsetIndex, *, pread: Pread, size: int
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
        is_valid = entry.timestamp < 0 or self._is_valid(entry)
        return entry if is_valid else TimeEntry(-1, self.base_offset)

    def _is_valid(self, entry: TimeEntry) -> bool:
        """Return whether the batch with the entry's offset has its timestamp."""
        begin = self._offset_index.lookup(entry.offset).position
        try:
            found = find_batch(self._pread, begin, self._size, offset=entry.offset)
        except CorruptMessageError:
            return False
        return found is not None and found.max_timestamp == entry.timestamp
