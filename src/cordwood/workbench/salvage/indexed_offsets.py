"""Offsets in the indexes of a segment, as witnesses of the base offsets of its batches.

    .timeindex   the last offset of the batch with that latest timestamp
    .index       the last offset of the batch at that position
    .txnindex    the offset of an abort marker; only the last one counts here

Brokers before 4.1 write one entry for several batches: the last offset, and the first position. So
a batch may begin behind the position of its entry, and never before it: then bytes are missing.
"""

from contextlib import suppress
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Files
from cordwood.core.types import Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.segment.abstract_index import InMemoryEntries, count_used
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetEntry, OffsetIndex
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE, TimeIndex
from cordwood.storage.segment.transaction_index import ABORTED_TXN_SIZE, TransactionIndex
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch

_START: Final = OffsetEntry(0, 0)


class IndexedOffsets(NamedTuple):
    """The indexes of a segment."""

    times: TimeIndex
    positions: OffsetIndex
    aborts: TransactionIndex

    def has_between(self, header: BatchHeader, first: int, *, end: int | None) -> bool:
        """Return whether an index has an offset for a batch in a range; `end` is excluded."""
        limit = INT64_MAX if end is None else end
        place = self.positions.find_upper_bound(_START, header.position)
        if (
            place is not None
            and place.position == header.position
            and first <= place.offset < limit
        ):
            return True
        return first < limit and _has_time(self.times, header.max_timestamp, first, end=limit)

    @property
    def end(self) -> int:
        """The offset behind the last one that an index has; the base offset without any."""
        places = (each for each in (self.times, self.positions) if each.entries.count)
        lasts = [each.last.offset for each in places]
        with suppress(DamagedFileError):
            lasts += [] if self.aborts.last is None else [self.aborts.last.last_offset]
        return max(lasts, default=self.times.base_offset - 1) + 1

    def missing_bytes(self, batch: SalvagedBatch) -> int:
        """Return how many bytes are missing before a batch by its entry; 0 without one."""
        number = self.positions.count_below(batch.offset)
        if number == self.positions.entries.count:
            return 0
        entry = self.positions.entry(number)
        is_own = entry.offset <= batch.last_offset
        return max(0, entry.position - batch.header.position) if is_own else 0


NO_INDEXES: Final = IndexedOffsets(
    TimeIndex(0, InMemoryEntries(b"", TIME_ENTRY_SIZE)),
    OffsetIndex(0, InMemoryEntries(b"", OFFSET_ENTRY_SIZE)),
    TransactionIndex(0, InMemoryEntries(b"", ABORTED_TXN_SIZE)),
)


def indexed_offsets(files: Files, source: str, *, base: int, suffix: str = "") -> IndexedOffsets:
    """Read the indexes of a segment; a missing one has no entries."""

    def entries(extension: str, size: int) -> InMemoryEntries:
        data = b""
        with suppress(FileNotFoundError):
            name = names.segment_name(Offset(base), extension, suffix=suffix)
            data = read_whole(files, f"{source}/{name}")
        found = InMemoryEntries(data, size)
        # An index is allocated in advance, with zeros.
        found.count = count_used(found, size) if data.strip(b"\0") else 0
        return found

    return IndexedOffsets(
        TimeIndex(base, entries(names.TIME_INDEX, TIME_ENTRY_SIZE)),
        OffsetIndex(base, entries(names.INDEX, OFFSET_ENTRY_SIZE)),
        TransactionIndex(base, entries(names.TXN_INDEX, ABORTED_TXN_SIZE)),
    )


def _has_time(times: TimeIndex, timestamp: int, first: int, *, end: int) -> bool:
    """Return whether the entry of a timestamp has an offset in a range."""
    for number in range(times.count_below(first), times.entries.count):
        entry = times.entry(number)
        if entry.offset >= end:
            return False
        if entry.timestamp == timestamp:
            return True
    return False
