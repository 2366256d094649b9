"""Checks of a cleaned segment's indexes against its batches, in one pass over these.

.index       an entry has the last offset of a batch and its position; no range longer
             than the interval is without one, as long as the index has room
.timeindex   an entry has the max timestamp so far and the last offset of its batch; the last one
             is the segment's max timestamp, which retention and rolls use
.txnindex    read here; its required entries are known once the log has been verified
"""

from collections.abc import Iterator
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from cordwood.compaction.proof.batch_reader import SegmentFile
from cordwood.core.ports import SegmentSource
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.file_names import INDEX, TIME_INDEX, TXN_INDEX
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetEntry, OffsetIndex
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE, TimeEntry, TimeIndex
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)

_NO_BATCH: Final = "an entry that no batch has"


class PlacedBatch(NamedTuple):
    """The fields of a batch that its indexes need."""

    position: int
    last_offset: int
    max_timestamp: int


class IndexFault(NamedTuple):
    """A fault of an index, and the extension of its file."""

    extension: str
    what: str
    expected: str = ""
    found: str = ""


Entry_co = TypeVar("Entry_co", covariant=True)


class _Index(Protocol[Entry_co]):
    def entry(self, number: int) -> Entry_co:
        """Return one entry."""


class _Entries(Generic[Entry_co]):
    """An iteration over entries, in the memory of the index's bytes alone."""

    __slots__ = ("_count", "_index", "next", "number")

    def __init__(self, index: _Index[Entry_co], count: int) -> None:
        self._index = index
        self._count = count
        self.number = -1
        self.next: Entry_co | None = None
        self.step()

    def step(self) -> None:
        """Advance to the next entry; None after the last one."""
        self.number += 1
        self.next = self._index.entry(self.number) if self.number < self._count else None

    def rest(self) -> Iterator[Entry_co]:
        """Yield the next entry, and all after it."""
        return map(self._index.entry, range(self.number, self._count))

    def last(self) -> Entry_co | None:
        """Return the last entry of all."""
        return self._index.entry(self._count - 1) if self._count else None


class CleanedIndexCheck:
    """A check that takes the batches of one segment, in order, and collects its indexes' faults."""

    __slots__ = (
        "_entered_at", "_interval_bytes", "_latest", "_offsets", "_room", "_times", "faults",
    )  # fmt: skip

    def __init__(self, source: SegmentSource, file: SegmentFile, *, config: LogConfig) -> None:
        self.faults: list[IndexFault] = []
        self._interval_bytes = config.index_interval_bytes
        self._room = config.segment_index_bytes // OFFSET_ENTRY_SIZE
        offsets = self._held(source, file, INDEX, entry_size=OFFSET_ENTRY_SIZE)
        times = self._held(source, file, TIME_INDEX, entry_size=TIME_ENTRY_SIZE)
        self._offsets = _Entries(OffsetIndex(file.base_offset, offsets), offsets.count)
        self._times = _Entries(TimeIndex(file.base_offset, times), times.count)
        self._entered_at = 0
        self._latest = TimeEntry(-1, file.base_offset)

    def see(self, batch: BatchHeader | PlacedBatch) -> None:
        """Check the next batch."""
        if batch.max_timestamp > self._latest.timestamp:
            self._latest = TimeEntry(batch.max_timestamp, batch.last_offset)
        self._see_offsets(batch.position, batch.last_offset)
        self._see_times(batch.last_offset)

    def finish(self) -> list[IndexFault]:
        """Return the faults after the last batch."""
        for entry in self._offsets.rest():
            self._fault(INDEX, _NO_BATCH, found=entry)
        for each in self._times.rest():
            self._fault(TIME_INDEX, _NO_BATCH, found=each)
        last = self._times.last() or TimeEntry(-1, self._latest.offset)
        if last.timestamp != self._latest.timestamp:
            what = "the last entry is not the latest time"
            self._fault(TIME_INDEX, what, expected=self._latest, found=last)
        return self.faults

    def _see_offsets(self, position: int, last_offset: int) -> None:
        entry = self._offsets.next
        if entry is not None and entry.position <= position:
            self._offsets.step()
            self._entered_at = position
            if entry != (last_offset, position):
                expected = OffsetEntry(last_offset, position)
                self._fault(INDEX, _NO_BATCH, expected=expected, found=entry)
        elif position - self._entered_at > self._interval_bytes and self._has_room():
            self._entered_at = position
            expected = OffsetEntry(last_offset, position)
            self._fault(INDEX, "a batch has no entry", expected=expected, found=entry)

    def _see_times(self, last_offset: int) -> None:
        while (entry := self._times.next) is not None and entry.offset <= last_offset:
            self._times.step()
            if entry != self._latest:
                self._fault(TIME_INDEX, _NO_BATCH, expected=self._latest, found=entry)

    def _has_room(self) -> bool:
        return self._offsets.number < self._room

    def _held(  # tidy: allow[positional] a source, what is read of it, and which part
        self, source: SegmentSource, file: SegmentFile, extension: str, *, entry_size: int
    ) -> InMemoryEntries:
        entries = _held(source, file, extension, entry_size=entry_size)
        if entries.size % entry_size:
            self._fault(extension, "a part of an entry", found=f"{entries.size} bytes")
        return entries

    def _fault(
        self, extension: str, what: str, *, expected: object = "", found: object = ""
    ) -> None:
        self.faults.append(IndexFault(extension, what, str(expected), str(found)))


def aborted_entries(source: SegmentSource, file: SegmentFile) -> Iterator[AbortedTxn]:
    """Yield the entries of a segment's transaction index; DamagedFileError if it is unreadable."""
    entries = _held(source, file, TXN_INDEX, entry_size=ABORTED_TXN_SIZE)
    index = TransactionIndex(file.base_offset, entries)
    index.sanity_check()
    yield from index.read()


def _held(  # tidy: allow[positional] a source, what is read of it, and which part
    source: SegmentSource, file: SegmentFile, extension: str, *, entry_size: int
) -> InMemoryEntries:
    """Return all entries of an index; none without a file."""
    name = file.sibling(extension)
    try:
        data = source.read(name, source.stat(name).size, 0)
    except FileNotFoundError:
        data = b""
    return InMemoryEntries(data, entry_size, path=f"{source.path}/{name}")
