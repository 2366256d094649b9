"""One segment of a log: batches in a `.log` file and its indexes (Kafka: `LogSegment`).

    created  -> append, read, truncate        -> inactive: indexes trimmed, no further appends
    opened   -> recovered, if it may be torn  -> either of the above

The state in memory, which does not change when a write raises:

    size               a preallocated file is larger
    latest             the largest timestamp and the batch that has it
    first timestamp    of the first batch, for the roll by time
    bytes since entry  after the last index entry
"""

from collections.abc import Sequence
from typing import Self

from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import SegmentOverflowError, relative_offset
from cordwood.storage.segment.offset_index import OffsetEntry
from cordwood.storage.segment.roll_policy import ActiveSegment
from cordwood.storage.segment.segment_files import (
    SegmentCut,
    SegmentFiles,
    SegmentPath,
    SegmentTrim,
)
from cordwood.storage.segment.segment_view import SegmentRead, SegmentView
from cordwood.storage.segment.sparse_index_builder import SparseIndexBuilder
from cordwood.storage.segment.time_index import TimeEntry
from cordwood.storage.segment.transaction_index import AbortedTxn, TxnIndexSearchResult


class LogSegment:  # tidy: allow[class-lines] one writer; files and lookups are in modules
    """The batches from `base_offset` to the next segment's base offset. One thread writes to it."""

    __slots__ = (
        "_bytes_since_entry",
        "_first_timestamp",
        "_interval_bytes",
        "_is_changed",
        "_latest",
        "created_ms",
        "files",
        "jitter_ms",
        "size",
    )

    def __init__(
        self, files: SegmentFiles, *, size: int, config: LogConfig, now_ms: int, jitter_ms: int
    ) -> None:
        self.files = files
        self.size = size
        self.created_ms = now_ms
        self.jitter_ms = jitter_ms
        self._interval_bytes = config.index_interval_bytes
        self._is_changed = False
        self._bytes_since_entry = 0
        self._first_timestamp: int | None = None
        self._latest: TimeEntry | None = None

    def __repr__(self) -> str:
        return f"LogSegment({self.files.log_path}, size={self.size})"

    @classmethod
    def create(
        cls,
        open_files: OpenFileCache,
        path: SegmentPath,
        *,
        config: LogConfig,
        now_ms: int,
        jitter_ms: int = 0,
    ) -> Self:
        """Create an empty segment; FileExistsError if its log file exists."""
        segment = cls.empty(open_files, path, config=config, now_ms=now_ms, jitter_ms=jitter_ms)
        segment.files.create_log(config.segment_bytes if config.preallocate else 0)
        return segment

    @classmethod
    def empty(
        cls,
        open_files: OpenFileCache,
        path: SegmentPath,
        *,
        config: LogConfig,
        now_ms: int,
        jitter_ms: int = 0,
    ) -> Self:
        """Return an empty segment whose log file the caller creates."""
        files = SegmentFiles(open_files, path, index_bytes=config.segment_index_bytes)
        segment = cls(files, size=0, config=config, now_ms=now_ms, jitter_ms=jitter_ms)
        segment._latest = TimeEntry(-1, path.base_offset)
        segment._is_changed = True
        return segment

    @classmethod
    def open(
        cls,
        open_files: OpenFileCache,
        path: SegmentPath,
        *,
        config: LogConfig,
        now_ms: int,
        jitter_ms: int = 0,
    ) -> Self:
        """Open an existing segment without reading it; its files count as valid."""
        files = SegmentFiles(open_files, path, index_bytes=config.segment_index_bytes)
        size = open_files.files.stat(files.log_path).size
        return cls(files, size=size, config=config, now_ms=now_ms, jitter_ms=jitter_ms)

    # -- state

    @property
    def base_offset(self) -> int:
        return self.files.path.base_offset

    @property
    def view(self) -> SegmentView:
        """The segment as it is now, for lookups."""
        files = self.files
        return SegmentView(
            files.path.base_offset, self.size, files.pread, files.offset_index, files.time_index
        )

    @property
    def latest(self) -> TimeEntry:
        """The largest timestamp (-1: none) and the last offset of the first batch that has it.

        In a segment that was opened and not recovered it is the last time entry.
        """
        if self._latest is None:
            self._latest = self.files.time_index.last
        return self._latest

    @property
    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch; -1 without one."""
        if self._first_timestamp is None:
            first = self.view.first_batch()
            if first is None:
                return -1
            self._first_timestamp = first.max_timestamp
        return self._first_timestamp

    def remember_first_timestamp(self, timestamp: int) -> None:
        """Set `first_timestamp`, which another thread has read."""
        self._first_timestamp = timestamp

    @property
    def is_index_full(self) -> bool:
        return self.files.offset_entries.is_full or self.files.time_entries.is_full

    @property
    def as_active(self) -> ActiveSegment:
        """The values for the roll decision."""
        return ActiveSegment(
            self.base_offset,
            self.size,
            self.first_timestamp if self.size else -1,
            self.created_ms,
            self.is_index_full,
        )

    @property
    def known_latest(self) -> TimeEntry | None:
        """`latest` if it is in memory, else None."""
        return self._latest

    def remember_latest(self, latest: TimeEntry) -> None:
        """Set `latest` to the last time entry, which another thread has read, unless it is set."""
        self._latest = self._latest or latest

    def largest_timestamp(self) -> int:
        """Return the largest timestamp; without one, the time of the file's last change."""
        if self.latest.timestamp >= 0:
            return self.latest.timestamp
        return self.files.open_files.files.stat(self.files.log_path).modified_ms

    def next_offset(self) -> int:
        """Return the offset after the last batch, read from the file."""
        return self.view.next_offset()

    def paths(self) -> list[str]:
        """Return the existing files."""
        return list(self.files.existing())

    def possible_paths(self) -> list[str]:
        """Return the files without a look at the disk; an index may not exist."""
        return list(self.files.possible())

    # -- writing

    def append(self, data: Buffer, headers: Sequence[BatchHeader]) -> int:
        """Write whole batches at the end and return the position of the first one.

        `headers` are those of `data`, in order; their positions are ignored.
        """
        position = self.size
        if not headers:
            return position
        builder = self._build_entries(headers, data)
        self.files.append(data, builder, position=position)
        if position == 0:
            self._first_timestamp = headers[0].max_timestamp
        self.size = position + len(data)
        self._latest = builder.latest
        self._bytes_since_entry = builder.bytes_since_entry
        self._is_changed = True
        return position

    def append_aborted(self, entry: AbortedTxn) -> None:
        """Add a transaction to the index that was aborted by a marker in this segment."""
        files = self.files
        files.transaction_entries.append(files.transaction_index.encode(entry))

    def truncate_to(self, offset: int, *, now_ms: int) -> int:
        """Remove the batch with `offset` and all later ones; return the number of their bytes."""
        cut = self.cut(offset, now_ms=now_ms)
        cut.run(self.files.open_files.files)
        self.finish_cut(cut)
        return cut.removed

    def cut(self, offset: int, *, now_ms: int) -> SegmentCut:
        """Make the batch with `offset` and all later ones unreadable; return the work on files.

        Batches are not split, so the first of them may begin below `offset`.
        """
        # At the base offset everything is removed without a lookup, even if it is damaged.
        position = 0
        if offset > self.base_offset:
            header = self.view.translate(offset)
            position = self.size if header is None else header.position
        removed = self.size - position
        self.size = position
        if self.size == 0:
            self.created_ms = now_ms
            self._first_timestamp = None
        self._bytes_since_entry = 0
        self._is_changed = True
        cut = self.files.cut(offset, size=self.size, removed=removed)
        self._latest = cut.latest
        return cut

    def finish_cut(self, cut: SegmentCut) -> None:
        """Take over the largest timestamp that the work on the files has found."""
        self._latest = cut.latest

    def truncate_log(self, position: int) -> int:
        """Truncate the log file without the indexes; return the number of bytes removed."""
        removed = self.size - position
        if removed:
            self.files.truncate_log(position)
        self.size = position
        return removed

    def become_inactive(self) -> None:
        """Write the last time entry and trim the files (Kafka: `onBecomeInactiveSegment`)."""
        self.files.trim(self.latest, size=self.size)
        self._is_changed = False

    def finish_trim(self, trim: SegmentTrim) -> None:
        """Take over the files that a worker has trimmed, in place of `become_inactive`."""
        self.files.finish_trim(trim)
        self._is_changed = False

    def ensure_index_files(self) -> None:
        """Create the index files of a segment without an append."""
        self.files.offset_entries.create()
        self.files.time_entries.create()

    def finish_recovery(self, builder: SparseIndexBuilder) -> None:
        """Set the state that recovery has found; its index entries are written already."""
        self._latest = builder.latest
        self._bytes_since_entry = 0
        self._first_timestamp = None
        self.become_inactive()

    def close(self) -> None:
        """Trim the files as a clean shutdown does, and close them."""
        if self._is_changed:
            self.become_inactive()
        self.files.forget()

    # -- reading

    def translate(self, offset: int, from_position: int = 0) -> BatchHeader | None:
        """Return the first batch whose last offset is `offset` or above."""
        return self.view.translate(offset, from_position)

    def read(
        self,
        start_offset: int,
        max_size: int,
        *,
        max_position: int | None = None,
        min_one: bool = False,
    ) -> SegmentRead | None:
        """Return the bytes from the batch with `start_offset`, or the next batch, on.

        None if all batches are below. The slice has at most `max_size` bytes, except for one whole
        batch with `min_one`, and ends at `max_position`. The caller must release it.
        """
        view = self.view
        header = view.translate(start_offset)
        if header is None:
            return None
        length = view.length_to_read(header, max_size, max_position=max_position, min_one=min_one)
        part = self.files.log().slice(header.position, length) if length else None
        is_first_incomplete = not min_one and 0 < max_size < header.size
        return SegmentRead(part, header.position, is_first_incomplete, header)

    def upper_bound_offset(self, start: OffsetEntry, size: int) -> int | None:
        """Return an offset at least `size` bytes after `start`; None if no index entry has one."""
        entry = self.files.offset_index.find_upper_bound(start, size)
        return entry.offset if entry is not None else None

    def collect_aborted(self, first_offset: int, end_offset: int) -> TxnIndexSearchResult:
        """Return the aborted transactions that a reader of these offsets has to skip."""
        return self.files.transaction_index.collect(first_offset, end_offset)

    # -- files

    def change_suffix(self, suffix: str) -> None:
        """Rename the files: `file_names.DELETED`, `CLEANED`, `SWAP` or no suffix."""
        self.files.change_suffix(suffix)

    def set_directory(self, directory: str) -> None:
        """Set the directory after the caller has renamed it."""
        self.files.set_directory(directory)

    def delete(self) -> None:
        """Remove the existing files."""
        self.files.remove()

    # -- implementation

    def _build_entries(self, headers: Sequence[BatchHeader], data: Buffer) -> SparseIndexBuilder:
        """Build the index entries, and reject what does not fit, before any write."""
        for offset in (headers[0].last_offset, headers[-1].last_offset):
            relative_offset(offset, self.base_offset)
        if self.size + len(data) > INT32_MAX:
            raise SegmentOverflowError(
                f"{self!r}: {len(data)} more bytes do not fit; a segment ends below 2 GiB"
            )
        builder = self.new_index_builder()
        builder.bytes_since_entry = self._bytes_since_entry
        builder.latest = self.latest
        position = self.size
        for header in headers:
            builder.add(header, position)
            position += header.size
        assert position - self.size == len(data), "the headers are those of the data"
        return builder

    def new_index_builder(self) -> SparseIndexBuilder:
        """Return a builder as for a segment without entries."""
        files = self.files
        return SparseIndexBuilder(
            files.offset_index, files.time_index, interval_bytes=self._interval_bytes
        )
