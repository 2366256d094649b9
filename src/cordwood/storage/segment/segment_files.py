"""Files of one segment: created, renamed and removed together (Kafka: `LogSegment`).

    .log         always exists
    .index       created by the first append; a segment without it is recovered when it is opened
    .timeindex   likewise
    .txnindex    created by the first abort marker in this segment

A suffix is the state of the segment: deleted, cleaned or swapped in (`file_names`). The `.log` file
is the first to be renamed or removed. So a crash can leave indexes without a log, which loading
removes, but never a log without its indexes.

An append writes everything or nothing: first the batches, then the index entries. The bytes of a
failed append are truncated. If that fails too, the log is torn. Other I/O errors propagate.

`IndexGrowths`, `SegmentTrim` and `SegmentCut` are the work on files before the first append, after
the last one and in a truncation, as values for a worker.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cordwood.core.binary import Buffer
from cordwood.core.ports import Files, OpenFile
from cordwood.core.types import Offset
from cordwood.records.batch_header import LARGEST_HEADER
from cordwood.storage.files import file_names
from cordwood.storage.files.header_scan import headers
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.segment.index_file import GrownIndex, IndexCut, IndexFile, IndexTrim
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetIndex
from cordwood.storage.segment.sparse_index_builder import SparseIndexBuilder
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE, TimeEntry, TimeIndex
from cordwood.storage.segment.transaction_index import ABORTED_TXN_SIZE, TransactionIndex


class TornWriteError(OSError):
    """A failed append left bytes in the files, and truncating them failed too."""


@dataclass(frozen=True, slots=True)
class SegmentPath:
    """The directory and the common name of a segment's files."""

    directory: str
    base_offset: int
    suffix: str = ""

    def of(self, extension: str) -> str:
        """Return the path of one of the files."""
        name = file_names.segment_name(Offset(self.base_offset), extension)
        return f"{self.directory}/{name}{self.suffix}"


class IndexGrowths:
    """Index files that are made ready for the next entries: on any thread, then by the owner."""

    __slots__ = ("_grown", "_growths")

    def __init__(self, indexes: Sequence[IndexFile]) -> None:
        self._growths = [(each, each.growth()) for each in indexes if not each.is_growing]
        self._grown = list[GrownIndex]()

    def run(self, files: Files) -> None:
        """Create and grow the files; for any thread."""
        self._grown = [growth.run(files) for _, growth in self._growths]

    def finish(self) -> None:
        """Take over the files; for the owner."""
        for (index, _), grown in zip(self._growths, self._grown, strict=True):
            index.finish_growth(grown)


@dataclass(frozen=True, slots=True)
class SegmentTrim:
    """The truncation of a segment's files to their content; `size` if the log file has more."""

    log_path: str
    size: int | None
    indexes: tuple[IndexTrim, IndexTrim]

    def run(self, files: Files) -> None:
        """Write the last time entry, and truncate the files; for any thread."""
        for each in self.indexes:
            each.run(files)
        if self.size is not None:
            log = files.open(self.log_path, writable=True)
            try:
                log.truncate(self.size)
            finally:
                log.close()


@dataclass(slots=True)
class SegmentCut:
    """The truncation of a segment's files: `removed` bytes of the log file, down to `size`.

    `latest` is the last time index entry that is kept, and after `run` the largest timestamp.
    """

    log_path: str
    size: int
    removed: int
    indexes: tuple[IndexCut, ...]
    latest: TimeEntry
    #: The position from which batches may have a later timestamp.
    scanned_from: int

    def run(self, files: Files) -> None:
        """Truncate the files, and find the largest timestamp that is left; for any thread."""
        for each in self.indexes:
            each.run(files)
        log = files.open(self.log_path, writable=True)
        try:
            if self.removed:
                log.truncate(self.size)
            for header in headers(log.pread, self.scanned_from, self.size):
                if header.max_timestamp > self.latest.timestamp:
                    self.latest = TimeEntry(header.max_timestamp, header.last_offset)
        finally:
            log.close()


class SegmentFiles:
    """The log file and the three index files with their indexes."""

    __slots__ = (
        "_is_preallocated",
        "log_path",
        "offset_entries",
        "offset_index",
        "open_files",
        "path",
        "time_entries",
        "time_index",
        "transaction_entries",
        "transaction_index",
    )

    def __init__(self, open_files: OpenFileCache, path: SegmentPath, *, index_bytes: int) -> None:
        self.open_files = open_files
        self._set_path(path)
        self._is_preallocated = False
        base_offset = path.base_offset
        self.offset_entries = IndexFile(
            open_files,
            path.of(file_names.INDEX),
            entry_size=OFFSET_ENTRY_SIZE,
            max_bytes=index_bytes,
        )
        self.time_entries = IndexFile(
            open_files,
            path.of(file_names.TIME_INDEX),
            entry_size=TIME_ENTRY_SIZE,
            max_bytes=index_bytes,
            reserved=1,
        )
        self.transaction_entries = IndexFile(
            open_files, path.of(file_names.TXN_INDEX), entry_size=ABORTED_TXN_SIZE
        )
        self.offset_index = OffsetIndex(base_offset, self.offset_entries)
        self.time_index = TimeIndex(base_offset, self.time_entries)
        self.transaction_index = TransactionIndex(base_offset, self.transaction_entries)

    def _set_path(self, path: SegmentPath) -> None:
        self.path = path
        self.log_path = path.of(file_names.LOG)

    def log(self, *, writable: bool = False) -> OpenFile:
        """Return the log file, open until the next call of the cache."""
        return self.open_files.open(self.log_path, writable=writable)

    def pread(self, length: int, position: int) -> bytes:
        """Read from the log file."""
        return self.log().pread(length, position)

    def create_log(self, preallocated_size: int) -> None:
        """Create the log file, preallocated if a size is given; FileExistsError if it exists."""
        log = self.open_files.create(self.log_path)
        if preallocated_size:
            log.preallocate(preallocated_size)
            self._is_preallocated = True

    def append(self, data: Buffer, builder: SparseIndexBuilder, *, position: int) -> None:
        """Write batches at `position`, the end of the log file, and their index entries.

        If it raises, nothing has been added, except after a TornWriteError.
        """
        entry_count = self.offset_entries.count
        log = self.log(writable=True)
        try:
            log.pwrite(data, position)
            self.write_entries(builder)
        except OSError:
            self._undo(position, entry_count)
            raise

    def write_entries(self, builder: SparseIndexBuilder) -> None:
        """Write the built entries as far as they fit into the index files."""
        for entries, data in (
            (self.offset_entries, builder.offset_bytes),
            (self.time_entries, builder.time_bytes),
        ):
            entries.create()
            if data:
                room = max(0, entries.room - entries.reserved)
                entries.append(bytes(data[: room * entries.entry_size]))

    def cut(self, offset: int, *, size: int, removed: int) -> SegmentCut:
        """Drop the index entries from `offset` on; return the work on the files."""
        cuts = (
            self.offset_entries.cut(self.offset_index.count_below(offset)),
            self.time_entries.cut(self.time_index.count_below(offset)),
            self.transaction_entries.cut(self.transaction_index.count_below(offset)),
        )
        if removed:
            self._is_preallocated = False
        indexed = self.time_index.last
        return SegmentCut(
            log_path=self.log_path,
            size=size,
            removed=removed,
            indexes=tuple(each for each in cuts if each is not None),
            latest=indexed,
            scanned_from=self.offset_index.lookup(indexed.offset).position,
        )

    def is_padded(self) -> bool:
        """Return whether an index ends with zeros: preallocated space or lost data."""
        # The first batch is never indexed, so a real entry is all zeros only for a record of 1970.
        return any(
            entries.count and not any(bytes(entries.read(entries.count - 1, 1)))
            for entries in (self.offset_entries, self.time_entries)
        )

    def reset_indexes(self) -> None:
        """Remove all entries; create the offset and time index files if they are missing."""
        self.offset_entries.reset()
        self.time_entries.reset()
        self.transaction_entries.truncate_to(0)

    def trim(self, latest: TimeEntry, *, size: int) -> None:
        """Write the last time entry and truncate each file to its content."""
        self.time_entries.create()
        entry = self.time_index.encode(*latest)
        if entry is not None and self.time_entries.room > 0:
            self.time_entries.append(entry)
        self.offset_entries.trim()
        self.time_entries.trim()
        if self._is_preallocated:
            self.truncate_log(size)

    def truncate_log(self, position: int) -> None:
        """Truncate the log file."""
        self.log(writable=True).truncate(position)
        self._is_preallocated = False

    @property
    def is_growing(self) -> bool:
        """Whether the next index entries change neither the names nor the sizes of the files."""
        return self.offset_entries.is_growing and self.time_entries.is_growing

    def growths(self) -> IndexGrowths:
        """Return the work before the first append."""
        return IndexGrowths((self.offset_entries, self.time_entries))

    def transaction_growth(self) -> IndexGrowths:
        """Return the work before the first aborted transaction."""
        return IndexGrowths((self.transaction_entries,))

    def trim_with(self, latest: TimeEntry, *, size: int) -> SegmentTrim:
        """Return the work of `trim` for files that are growing."""
        entry = self.time_index.encode(*latest)
        fits = entry is not None and self.time_entries.room > 0
        return SegmentTrim(
            self.log_path,
            size if self._is_preallocated else None,
            (
                self.offset_entries.trim_with(),
                self.time_entries.trim_with(entry if entry is not None and fits else b""),
            ),
        )

    def finish_trim(self, trim: SegmentTrim) -> None:
        """Take over the files that `trim_with` has truncated."""
        offset_trim, time_trim = trim.indexes
        self.offset_entries.finish_trim(offset_trim)
        self.time_entries.finish_trim(time_trim)
        self._is_preallocated = False

    def declare_new(self, *, is_preallocated: bool) -> None:
        """Take over the log file of a new segment, which has no index files yet."""
        self._is_preallocated = is_preallocated
        for entries in self._indexes():
            entries.declare_missing()

    def existing(self) -> Iterator[str]:
        """Yield the paths of the existing files."""
        yield self.log_path
        for entries in self._indexes():
            if entries.exists:
                yield entries.path

    def possible(self) -> Iterator[str]:
        """Yield the paths of the files, without those that are known to be missing.

        For work that skips missing files: an fsync or a rename on a worker.
        """
        yield self.log_path
        for entries in self._indexes():
            if entries.may_exist:
                yield entries.path

    def change_suffix(self, suffix: str) -> None:
        """Rename all existing files."""
        self.rename_log(suffix)
        self.rename_indexes()

    def rename_log(self, suffix: str) -> None:
        """Rename the log file only; `rename_indexes` must follow."""
        path = replace(self.path, suffix=suffix)
        self.open_files.rename(self.log_path, path.of(file_names.LOG))
        self._set_path(path)

    def rename_indexes(self) -> None:
        """Rename the existing index files like the log file."""
        for entries, extension in zip(self._indexes(), _INDEX_EXTENSIONS, strict=True):
            entries.rename(self.path.of(extension))

    def set_index_suffix(self, suffix: str) -> None:
        """Use index files with a suffix, while the log file has none."""
        path = replace(self.path, suffix=suffix)
        for entries, extension in zip(self._indexes(), _INDEX_EXTENSIONS, strict=True):
            entries.set_path(path.of(extension))

    def use_cache(self, open_files: OpenFileCache) -> None:
        """Open the files through another cache from now on."""
        self.open_files = open_files
        for entries in self._indexes():
            entries.use_cache(open_files)

    def set_directory(self, directory: str) -> None:
        """Set the directory after the caller has renamed it."""
        self._set_path(replace(self.path, directory=directory))
        for entries, extension in zip(self._indexes(), _INDEX_EXTENSIONS, strict=True):
            entries.set_path(self.path.of(extension))

    def remove(self) -> None:
        """Remove all existing files."""
        if self.open_files.exists(self.log_path):
            self.open_files.remove(self.log_path)
        for entries in self._indexes():
            entries.remove()

    def forget(self) -> None:
        """Close the open files."""
        for path in (self.log_path, *(entries.path for entries in self._indexes())):
            self.open_files.forget(path)

    def _undo(self, position: int, entry_count: int) -> None:
        """Truncate the bytes of a failed append."""
        try:
            self.truncate_log(position)
            self.offset_entries.truncate_to(entry_count)
        except OSError as error:
            # Recovery would find whole batches there. Zeros over the first header, which need no
            # space on the disk, make it end the log before them.
            with suppress(OSError):
                self.log(writable=True).pwrite(bytes(LARGEST_HEADER), position)
            raise TornWriteError(error.errno, error.strerror, error.filename) from error

    def _indexes(self) -> tuple[IndexFile, ...]:
        return self.offset_entries, self.time_entries, self.transaction_entries


_INDEX_EXTENSIONS = (file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)
