"""The indexes of a cleaned segment, held against its batches as these come by.

.index       an entry names the last offset of a batch and where that begins; no stretch longer
             than the interval goes without one, as long as the index has room
.timeindex   an entry names the latest time so far and the last offset of the batch that brought
             it; the last one is the segment's latest time, for retention and rolls ask it
.txnindex    read here; which entries there have to be is known once the log has been judged
"""

from collections.abc import Iterator
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from cordwood.compaction.verify_reading import SegmentFile
from cordwood.core.ports import SegmentSource
from cordwood.records.header import BatchHeader
from cordwood.storage.index import (
    ABORTED_ENTRY_SIZE,
    OFFSET_ENTRY_SIZE,
    TIME_ENTRY_SIZE,
    AbortedEntry,
    HeldEntries,
    OffsetEntry,
    OffsetIndex,
    TimeEntry,
    TimeIndex,
    TransactionIndex,
)
from cordwood.storage.log_config import LogConfig
from cordwood.storage.names import INDEX, TIME_INDEX, TXN_INDEX

_NO_BATCH: Final = "an entry that no batch has"


class Placed(NamedTuple):
    """What indexes are told of a batch."""

    position: int
    last_offset: int
    max_timestamp: int


class IndexFault(NamedTuple):
    """What is wrong with an index, and which of a segment's files it is."""

    extension: str
    what: str
    expected: str = ""
    found: str = ""


Entry_co = TypeVar("Entry_co", covariant=True)


class _Index(Protocol[Entry_co]):
    def entry(self, number: int) -> Entry_co:
        """Return one entry."""


class _Entries(Generic[Entry_co]):
    """Entries one after the other: an index of hundreds of thousands takes its bytes, no more."""

    __slots__ = ("_count", "_index", "next", "number")

    def __init__(self, index: _Index[Entry_co], count: int) -> None:
        self._index = index
        self._count = count
        self.number = -1
        self.next: Entry_co | None = None
        self.step()

    def step(self) -> None:
        """Go on to the next entry; None is behind the last one."""
        self.number += 1
        self.next = self._index.entry(self.number) if self.number < self._count else None

    def rest(self) -> Iterator[Entry_co]:
        """Yield the next entry, and all behind it."""
        return map(self._index.entry, range(self.number, self._count))

    def last(self) -> Entry_co | None:
        """Return the last entry of all."""
        return self._index.entry(self._count - 1) if self._count else None


class IndexesSeen:
    """Takes the batches of one segment, in order, and gathers what its indexes say wrongly."""

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

    def see(self, batch: BatchHeader | Placed) -> None:
        """Take the next batch."""
        if batch.max_timestamp > self._latest.timestamp:
            self._latest = TimeEntry(batch.max_timestamp, batch.last_offset)
        self._see_offsets(batch.position, batch.last_offset)
        self._see_times(batch.last_offset)

    def finish(self) -> list[IndexFault]:
        """Return what is wrong, once all batches have come by."""
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
    ) -> HeldEntries:
        entries = _held(source, file, extension, entry_size=entry_size)
        if entries.size % entry_size:
            self._fault(extension, "a part of an entry", found=f"{entries.size} bytes")
        return entries

    def _fault(
        self, extension: str, what: str, *, expected: object = "", found: object = ""
    ) -> None:
        self.faults.append(IndexFault(extension, what, str(expected), str(found)))


def aborted_entries(source: SegmentSource, file: SegmentFile) -> Iterator[AbortedEntry]:
    """Yield what a segment's transaction index says; DamagedFileError if that cannot be read."""
    entries = _held(source, file, TXN_INDEX, entry_size=ABORTED_ENTRY_SIZE)
    index = TransactionIndex(file.base_offset, entries)
    index.check()
    yield from index.read()


def _held(  # tidy: allow[positional] a source, what is read of it, and which part
    source: SegmentSource, file: SegmentFile, extension: str, *, entry_size: int
) -> HeldEntries:
    """Return all entries of an index; none if there is no file."""
    name = file.sibling(extension)
    try:
        data = source.read(name, source.stat(name).size, 0)
    except FileNotFoundError:
        data = b""
    return HeldEntries(data, entry_size, path=f"{source.path}/{name}")
