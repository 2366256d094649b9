"""The files of one segment, which share a name: they are made, renamed and removed together.

    .log         always there
    .index       made with the first append; a segment without it is recovered when it is opened
    .timeindex   likewise
    .txnindex    made when the first aborted transaction is decided in this segment

A suffix says what is being done to the segment: it is deleted, cleaned or swapped in (`names`).
The `.log` is the first to be renamed or removed, so what a crash can leave is indexes of no log,
which loading removes, and never a log that seems whole and has lost its indexes.

An append is written whole or not at all: first the batches, then the entries. What a refused one
has left is cut off again; when that fails too, whatever the reason, the log is torn. Other errors
of the operating system rise as they are.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from cordwood.core.binary import Buffer
from cordwood.core.ports import OpenFile
from cordwood.core.types import Offset
from cordwood.records.header import LARGEST_HEADER
from cordwood.storage import names
from cordwood.storage.file_table import FileTable
from cordwood.storage.index import (
    ABORTED_ENTRY_SIZE,
    OFFSET_ENTRY_SIZE,
    TIME_ENTRY_SIZE,
    OffsetIndex,
    TimeEntry,
    TimeIndex,
    TransactionIndex,
)
from cordwood.storage.index_file import IndexFile
from cordwood.storage.index_growth import IndexGrowth


class TornWriteError(OSError):
    """What a refused append has left in the files could not be taken back."""


@dataclass(frozen=True, slots=True)
class SegmentPath:
    """Where a segment's files are and what they are called."""

    directory: str
    base_offset: int
    suffix: str = ""

    def of(self, extension: str) -> str:
        """Return the path of one of the files."""
        name = names.segment_name(Offset(self.base_offset), extension)
        return f"{self.directory}/{name}{self.suffix}"


class SegmentFiles:
    """The log file and the three indexes over theirs."""

    __slots__ = (
        "_is_preallocated",
        "offset_entries",
        "offset_index",
        "path",
        "table",
        "time_entries",
        "time_index",
        "transaction_entries",
        "transaction_index",
    )

    def __init__(self, table: FileTable, path: SegmentPath, *, index_bytes: int) -> None:
        self.table = table
        self.path = path
        self._is_preallocated = False
        base_offset = path.base_offset
        self.offset_entries = IndexFile(
            table, path.of(names.INDEX), entry_size=OFFSET_ENTRY_SIZE, max_bytes=index_bytes
        )
        self.time_entries = IndexFile(
            table,
            path.of(names.TIME_INDEX),
            entry_size=TIME_ENTRY_SIZE,
            max_bytes=index_bytes,
            reserved=1,
        )
        self.transaction_entries = IndexFile(
            table, path.of(names.TXN_INDEX), entry_size=ABORTED_ENTRY_SIZE
        )
        self.offset_index = OffsetIndex(base_offset, self.offset_entries)
        self.time_index = TimeIndex(base_offset, self.time_entries)
        self.transaction_index = TransactionIndex(base_offset, self.transaction_entries)

    @property
    def log_path(self) -> str:
        return self.path.of(names.LOG)

    def log(self, *, writable: bool = False) -> OpenFile:
        """Return the log file, open until the table is used again."""
        return self.table.opened(self.log_path, writable=writable)

    def pread(self, length: int, position: int) -> bytes:
        """Read from the log file, opened when it is not."""
        return self.log().pread(length, position)

    def create_log(self, preallocated_size: int) -> None:
        """Make the log file, as large as it is going to be; FileExistsError if there is one."""
        log = self.table.create(self.log_path)
        if preallocated_size:
            log.preallocate(preallocated_size)
            self._is_preallocated = True

    def append(self, data: Buffer, growth: IndexGrowth, *, position: int) -> None:
        """Write batches at `position`, where the log ends, and what they add to the indexes.

        When it raises nothing has been added, unless that is a TornWriteError.
        """
        entry_count = self.offset_entries.count
        log = self.log(writable=True)
        try:
            log.pwrite(data, position)
            self.write_entries(growth)
        except OSError:
            self._take_back(position, entry_count)
            raise

    def write_entries(self, growth: IndexGrowth) -> None:
        """Write the entries that were gathered, as far as there is room for them."""
        for entries, data in (
            (self.offset_entries, growth.offset_bytes),
            (self.time_entries, growth.time_bytes),
        ):
            entries.make()
            if data:
                room = max(0, entries.room - entries.reserved)
                entries.append(bytes(data[: room * entries.entry_size]))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries from `offset` on."""
        self.offset_entries.truncate_to(self.offset_index.count_below(offset))
        self.time_entries.truncate_to(self.time_index.count_below(offset))
        self.transaction_entries.truncate_to(self.transaction_index.count_below(offset))

    def is_padded(self) -> bool:
        """Whether an index ends with zeros: room that was not cut off, or data that never arrived.

        A first batch is never indexed, so no entry is zeros but one of a record dated 1970.
        """
        return any(
            entries.count and not any(bytes(entries.read(entries.count - 1, 1)))
            for entries in (self.offset_entries, self.time_entries)
        )

    def reset_indexes(self) -> None:
        """Drop all entries; the two indexes are made if they are missing."""
        self.offset_entries.reset()
        self.time_entries.reset()
        self.transaction_entries.truncate_to(0)

    def trim(self, latest: TimeEntry, *, size: int) -> None:
        """Write the last time entry and cut each file to what is in it."""
        self.time_entries.make()
        entry = self.time_index.encode(*latest)
        if entry is not None and self.time_entries.room > 0:
            self.time_entries.append(entry)
        self.offset_entries.trim()
        self.time_entries.trim()
        if self._is_preallocated:
            self.cut(size)

    def cut(self, position: int) -> None:
        """Cut the log file."""
        self.log(writable=True).truncate(position)
        self._is_preallocated = False

    def existing(self) -> Iterator[str]:
        """Yield the paths of those files that there are; they are what a flush has to sync."""
        yield self.log_path
        for entries in self._indexes():
            if entries.exists:
                yield entries.path

    def change_suffix(self, suffix: str) -> None:
        """Rename all files that there are."""
        self.rename_log(suffix)
        self.rename_indexes()

    def rename_log(self, suffix: str) -> None:
        """Rename the log file; the indexes are to follow."""
        path = replace(self.path, suffix=suffix)
        self.table.rename(self.log_path, path.of(names.LOG))
        self.path = path

    def rename_indexes(self) -> None:
        """Rename the indexes that there are, as the log file has been."""
        for entries, extension in zip(self._indexes(), _INDEX_EXTENSIONS, strict=True):
            entries.rename(self.path.of(extension))

    def use(self, table: FileTable) -> None:
        """Open the files through another table from now on."""
        self.table = table
        for entries in self._indexes():
            entries.use(table)

    def moved(self, directory: str) -> None:
        """Go by another directory from now on, which the caller has renamed."""
        self.path = replace(self.path, directory=directory)
        for entries, extension in zip(self._indexes(), _INDEX_EXTENSIONS, strict=True):
            entries.moved(self.path.of(extension))

    def remove(self) -> None:
        """Remove all files that there are."""
        if self.table.exists(self.log_path):
            self.table.remove(self.log_path)
        for entries in self._indexes():
            entries.remove()

    def forget(self) -> None:
        """Close whatever is open."""
        for path in (self.log_path, *(entries.path for entries in self._indexes())):
            self.table.forget(path)

    def _take_back(self, position: int, entry_count: int) -> None:
        """Cut off what a refused append has written.

        Where that fails zeros go over its first header, which takes no space: a recovery, which
        would find whole batches there, ends the log before them.
        """
        try:
            self.cut(position)
            self.offset_entries.truncate_to(entry_count)
        except OSError as error:
            with suppress(OSError):
                self.log(writable=True).pwrite(bytes(LARGEST_HEADER), position)
            raise TornWriteError(error.errno, error.strerror, error.filename) from error

    def _indexes(self) -> tuple[IndexFile, ...]:
        return self.offset_entries, self.time_entries, self.transaction_entries


_INDEX_EXTENSIONS = (names.INDEX, names.TIME_INDEX, names.TXN_INDEX)
