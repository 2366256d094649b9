"""One segment of a log: a run of batches in a file, and the indexes over it.

    created  -> appended to, read, truncated -> inactive: indexes exact, no longer appended to
    opened   -> recovered, if it may be torn -> either of the above

What the segment knows of itself beside its files: its size, for a preallocated file is larger; the
latest time and the batch that has it; the time of the first batch, by which it is rolled; and how
many bytes came after the last index entry. Nothing of it changes when a write raises.
"""

from collections.abc import Sequence
from typing import Self

from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.records.header import BatchHeader
from cordwood.storage.file_table import FileTable
from cordwood.storage.index import (
    AbortedEntry,
    Collected,
    OffsetEntry,
    SegmentOverflowError,
    TimeEntry,
    relative_offset,
)
from cordwood.storage.index_growth import IndexGrowth
from cordwood.storage.log_config import LogConfig
from cordwood.storage.roll import ActiveSegment
from cordwood.storage.segment_files import SegmentFiles, SegmentPath
from cordwood.storage.segment_reads import SegmentRead, SegmentView, TimestampAndOffset


class Segment:
    """The batches from `base_offset` on, up to the next segment's. One thread writes to it."""

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
        return f"Segment({self.files.log_path}, size={self.size})"

    @classmethod
    def create(
        cls,
        table: FileTable,
        path: SegmentPath,
        *,
        config: LogConfig,
        now_ms: int,
        jitter_ms: int = 0,
    ) -> Self:
        """Make an empty segment: a log file. FileExistsError if there is one."""
        files = SegmentFiles(table, path, index_bytes=config.segment_index_bytes)
        files.create_log(config.segment_bytes if config.preallocate else 0)
        segment = cls(files, size=0, config=config, now_ms=now_ms, jitter_ms=jitter_ms)
        segment._latest = TimeEntry(-1, path.base_offset)
        segment._is_changed = True
        return segment

    @classmethod
    def open(
        cls,
        table: FileTable,
        path: SegmentPath,
        *,
        config: LogConfig,
        now_ms: int,
        jitter_ms: int = 0,
    ) -> Self:
        """Open a segment that exists, without reading it: it is believed until it is recovered."""
        files = SegmentFiles(table, path, index_bytes=config.segment_index_bytes)
        size = table.files.stat(files.log_path).size
        return cls(files, size=size, config=config, now_ms=now_ms, jitter_ms=jitter_ms)

    # -- what is known of it

    @property
    def base_offset(self) -> int:
        return self.files.path.base_offset

    @property
    def view(self) -> SegmentView:
        """The segment as it is now, to be searched."""
        files = self.files
        return SegmentView(
            files.path.base_offset, self.size, files.pread, files.offset_index, files.time_index
        )

    @property
    def latest(self) -> TimeEntry:
        """The latest time of a batch, -1 without one, and the last offset of the first such batch.

        Of a segment that was opened and not recovered it is the last time entry.
        """
        if self._latest is None:
            self._latest = self.files.time_index.last
        return self._latest

    @property
    def first_timestamp(self) -> int:
        """The first batch's latest time; -1 without a batch, or where it has none."""
        if self._first_timestamp is None:
            first = self.view.first_batch()
            if first is None:
                return -1
            self._first_timestamp = first.max_timestamp
        return self._first_timestamp

    @property
    def is_index_full(self) -> bool:
        return self.files.offset_entries.is_full or self.files.time_entries.is_full

    @property
    def as_active(self) -> ActiveSegment:
        """What the roll rule looks at."""
        return ActiveSegment(
            self.base_offset,
            self.size,
            self.first_timestamp if self.size else -1,
            self.created_ms,
            self.is_index_full,
        )

    def largest_timestamp(self) -> int:
        """Return the latest time of a batch, or else the file's last change."""
        if self.latest.timestamp >= 0:
            return self.latest.timestamp
        return self.files.table.files.stat(self.files.log_path).modified_ms

    def next_offset(self) -> int:
        """Return the offset after the last batch, read from the file."""
        return self.view.next_offset()

    def paths(self) -> list[str]:
        """Return the files that there are; a flush syncs them, through the table's pins."""
        return list(self.files.existing())

    # -- writing

    def append(self, data: Buffer, headers: Sequence[BatchHeader]) -> int:
        """Write whole batches at the end, and return the position where they begin.

        `headers` are those of `data`, in order; their positions are not looked at.
        """
        position = self.size
        if not headers:
            return position
        growth = self._growth(headers, data)
        self.files.append(data, growth, position=position)
        if position == 0:
            self._first_timestamp = headers[0].max_timestamp
        self.size = position + len(data)
        self._latest = growth.latest
        self._bytes_since_entry = growth.bytes_since_entry
        self._is_changed = True
        return position

    def append_aborted(self, entry: AbortedEntry) -> None:
        """Note a transaction that was aborted by a marker in this segment."""
        files = self.files
        files.transaction_entries.append(files.transaction_index.encode(entry))

    def truncate_to(self, offset: int, *, now_ms: int) -> int:
        """Cut off the batch that holds `offset` and all after it; return how many bytes that was.

        Batches are not split, so the batch that is cut off may begin below `offset`. At the base
        offset everything goes, whatever it is.
        """
        position: int | None = 0
        if offset > self.base_offset:
            header = self.view.translate(offset)
            position = None if header is None else header.position
        self.files.truncate_to(offset)
        cut = 0 if position is None else self.cut_at(position)
        if self.size == 0:
            self.created_ms = now_ms
            self._first_timestamp = None
        self._bytes_since_entry = 0
        self._is_changed = True
        self._latest = TimeEntry(*self.view.latest_timestamp()[:2])
        return cut

    def cut_at(self, position: int) -> int:
        """Cut the log file, whatever the indexes say; return how many of its bytes that was."""
        cut = self.size - position
        if cut:
            self.files.cut(position)
        self.size = position
        return cut

    def become_inactive(self) -> None:
        """Write the last time entry and cut the files to what is in them."""
        self.files.trim(self.latest, size=self.size)
        self._is_changed = False

    def ensure_index_files(self) -> None:
        """Make the index files of a segment that has not been appended to."""
        self.files.offset_entries.make()
        self.files.time_entries.make()

    def recovered(self, growth: IndexGrowth) -> None:
        """Go on from what a recovery has found; its entries are in the index files already."""
        self._latest = growth.latest
        self._bytes_since_entry = 0
        self._first_timestamp = None
        self.become_inactive()

    def close(self) -> None:
        """Leave the files as a clean stop leaves them, and close them."""
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
        """Return what begins with the batch that holds `start_offset`, or with the next one.

        None when all batches are below. At most `max_size` bytes, but for one whole batch with
        `min_one`; nothing from `max_position` on. Whoever gets a slice releases it.
        """
        view = self.view
        header = view.translate(start_offset)
        if header is None:
            return None
        length = view.length_to_read(header, max_size, max_position=max_position, min_one=min_one)
        part = self.files.log().slice(header.position, length) if length else None
        is_first_incomplete = not min_one and 0 < max_size < header.size
        return SegmentRead(part, header.position, is_first_incomplete, header)

    def find_by_timestamp(self, timestamp: int, first_offset: int) -> TimestampAndOffset | None:
        """Return the first record from `first_offset` on that is not earlier than `timestamp`."""
        return self.view.find_by_timestamp(timestamp, first_offset)

    def latest_record(self) -> TimestampAndOffset | None:
        """Return the first record that has the segment's latest time."""
        if self.latest.timestamp < 0:
            return None
        return self.view.first_with_timestamp(TimestampAndOffset(*self.latest))

    def upper_bound_offset(self, start: OffsetEntry, size: int) -> int | None:
        """Return an offset that `size` bytes from `start` on do not reach; None: no entry tells."""
        entry = self.files.offset_index.upper_bound(start, size)
        return entry.offset if entry is not None else None

    def collect_aborted(self, first_offset: int, end_offset: int) -> Collected:
        """Return the aborted transactions that a reader of these offsets has to skip."""
        return self.files.transaction_index.collect(first_offset, end_offset)

    # -- its files

    def change_suffix(self, suffix: str) -> None:
        """Rename the files: `names.DELETED`, `CLEANED`, `SWAP` or nothing at their end."""
        self.files.change_suffix(suffix)

    def moved(self, directory: str) -> None:
        """Go by another directory from now on, which the caller has renamed."""
        self.files.moved(directory)

    def delete(self) -> None:
        """Remove the files that there are."""
        self.files.remove()

    # -- inside

    def _growth(self, headers: Sequence[BatchHeader], data: Buffer) -> IndexGrowth:
        """Decide what goes into the indexes, and refuse what has no place, before any write."""
        for offset in (headers[0].last_offset, headers[-1].last_offset):
            relative_offset(offset, self.base_offset)
        if self.size + len(data) > INT32_MAX:
            raise SegmentOverflowError(
                f"{len(data)} bytes have no place in {self!r}: a segment ends below 2 GiB"
            )
        growth = self.new_growth()
        growth.bytes_since_entry = self._bytes_since_entry
        growth.latest = self.latest
        position = self.size
        for header in headers:
            growth.add(header, position)
            position += header.size
        assert position - self.size == len(data), "the headers are those of the data"
        return growth

    def new_growth(self) -> IndexGrowth:
        """Begin to gather entries, as for a segment without any."""
        files = self.files
        return IndexGrowth(
            files.offset_index, files.time_index, interval_bytes=self._interval_bytes
        )
