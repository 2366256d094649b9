"""Reader of a partition directory that another process, of Cordwood or of Kafka, may own.

The reader does not write, lock or map files. The owner may roll, clean, truncate and delete between
any two calls, so the reader does not rely on an earlier state of the directory. If a read finds a
change, it looks up the next offset again in the present files. The result:

- Batches come in the order of their offsets, each at most once.
- Each batch is as it was in the log at some time during the read.
- A truncation during the read ends it, or the read continues with the batches written since.

A walk lists the directory once, and goes from segment to segment by this listing. It lists again
after a change, and at the end. It also lists again if offsets are missing between two segments, and
files were created or removed since: a segment may be there that the listing does not have.

The bounds of the log:

    start   the log start checkpoint of the log directory, or the first segment's base offset
    end     the end of the last whole batch; a torn tail does not count

Damage before the end raises CorruptMessageError with file, position and offset.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeVar

from cordwood.core.errors import CorruptMessageError, LogDirectoryError
from cordwood.core.ports import SegmentSource
from cordwood.records.batch_header import LARGEST_HEADER
from cordwood.storage.files.file_names import LOG
from cordwood.storage.reader.offset_gaps import OffsetGap, find_gaps
from cordwood.storage.reader.reader_segment import ReaderSegment, find_end, open_segment
from cordwood.storage.reader.segment_listing import (
    ListedSegment,
    SegmentChangedError,
    list_segments,
)
from cordwood.storage.reader.segment_walk import FoundBatch, SegmentBatchRun, SegmentWalk, is_beyond
from cordwood.storage.segment.segment_view import TimestampAndOffset

#: The largest number of bytes of one read.
RUN_BYTES: Final = 4 << 20

#: The largest number of attempts while the directory changes.
MAX_ATTEMPTS: Final = 100

#: Attempts before damage is reported: the owner may have been overwriting the bytes.
MAX_CORRUPT_READS: Final = 3

T = TypeVar("T")


class PartitionCheckpoints(NamedTuple):
    """The checkpoints of one partition in its log directory; 0 for a missing one."""

    log_start: int = 0
    cleaned_to: int = 0


class ReaderOffsets(NamedTuple):
    """The bounds of a log; the last segment has `tail_bytes` after its last whole batch."""

    log_start: int
    log_end: int
    tail_bytes: int = 0


class SegmentDescription(NamedTuple):
    """A segment as it is now; `end_offset` of the last one is the log end."""

    base_offset: int
    end_offset: int
    size: int
    modified_ms: int
    path: str


class _ItemWithNextOffset(Protocol):
    @property
    def next_offset(self) -> int:
        """The offset at which the read continues."""


Item = TypeVar("Item", bound=_ItemWithNextOffset)


@dataclass(slots=True)
class _RetryLimit:
    """A counter of failed attempts since the last progress; it separates changes from damage."""

    path: str
    changes: int = 0
    corrupt_reads: int = 0

    def reset(self) -> None:
        self.changes = self.corrupt_reads = 0

    def count_change(self, error: Exception) -> None:
        """Count a change of the directory; raise LogDirectoryError after too many."""
        self.changes += 1
        if self.changes >= MAX_ATTEMPTS:
            raise LogDirectoryError(
                "changes faster than it can be read",
                path=self.path,
                remedy="read a copy of it, or ask the broker",
            ) from error

    def count_corrupt_read(self, error: CorruptMessageError) -> None:
        """Count a corrupt read, which an overwrite during the read may cause; raise after some."""
        self.corrupt_reads += 1
        if self.corrupt_reads >= MAX_CORRUPT_READS:
            raise error


class PartitionReader:
    """A reader of one partition; `checkpoints` reads the checkpoints at every use."""

    __slots__ = ("_checkpoints", "source")

    def __init__(
        self,
        source: SegmentSource,
        checkpoints: Callable[[], PartitionCheckpoints] = PartitionCheckpoints,
    ) -> None:
        self.source = source
        self._checkpoints = checkpoints

    def __repr__(self) -> str:
        return f"PartitionReader({self.source.path})"

    # -- bounds and segments

    def checkpoints(self) -> PartitionCheckpoints:
        """Return the partition's checkpoints in the log directory."""
        return self._checkpoints()

    def list_names(self) -> list[str]:
        """Return the names in the directory."""
        try:
            return self.source.list()
        except FileNotFoundError as error:
            raise LogDirectoryError(
                "does not exist any more: the partition was deleted or moved",
                path=self.source.path,
                remedy="look for it in the log directories, and open it there",
            ) from error

    def log_start(self) -> int:
        """Return the log start offset without reading the log end."""
        listed = self.list_segments()
        return max(self._checkpoints().log_start, listed[0].base_offset if listed else 0)

    def offsets(self) -> ReaderOffsets:
        """Return the bounds of the log."""
        return self.retry_on_change(self._offsets)

    def segments(self) -> list[SegmentDescription]:
        """Return all segments, oldest first."""
        return self.retry_on_change(self._segments)

    def open_segments(self) -> list[ReaderSegment]:
        """Return all segments, opened, oldest first."""
        return self.retry_on_change(lambda: list(self._opened(self._listed())))

    def list_segments(self) -> list[ListedSegment]:
        """Return the listed segments, oldest first, without opening one."""
        return self.retry_on_change(self._listed)

    # -- reading

    def find(self, offset: int) -> FoundBatch | None:
        """Return the first batch whose last offset is `offset` or above; None at the log end."""
        walk = self.retry_on_change(lambda: self.walk().segment_from(offset))
        return None if walk is None else FoundBatch(walk.first, walk.segment)

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """Return the first record at or after a timestamp; None without one."""
        return self.retry_on_change(lambda: self._find_by_timestamp(timestamp))

    def batches(self, start: int = 0, end: int | None = None) -> Iterator[FoundBatch]:
        """Yield the batches with offsets from `start` up to, but not including, `end`.

        Only headers are read. The default `end` is the log end at the beginning of the read.
        """
        return self.walk().batches(start, end)

    def walk(self) -> "PartitionWalk":
        """Return a walk, for several reads with one listing of the directory."""
        return PartitionWalk(self)

    def buffers(
        self,
        start: int = 0,
        end: int | None = None,
        *,
        max_bytes: int = RUN_BYTES,
        is_kept: bool = False,
    ) -> Iterator[SegmentBatchRun]:
        """Yield the same batches as runs of bytes, each of at most `max_bytes` or of one batch.

        The decoder checks the checksums. The bytes of a run are valid until the next run, unless
        `is_kept` is set.
        """
        return self.walk().buffers(start, end, max_bytes=max_bytes, is_kept=is_kept)

    def gaps(self, start: int = 0, end: int | None = None) -> Iterator[OffsetGap]:
        """Yield the gaps between `start` and `end`, with their cause."""
        first = max(start, self.offsets().log_start)
        headers = (found.header for found in self.batches(first, end))
        return find_gaps(headers, start=first, cleaned_to=self._checkpoints().cleaned_to)

    def retry_on_change(self, look: Callable[[], T]) -> T:
        """Return the result of `look`; call it again if the directory changes during the call."""
        limit = _RetryLimit(self.source.path)
        while True:
            try:
                return look()
            except (FileNotFoundError, SegmentChangedError) as error:
                limit.count_change(error)
            except CorruptMessageError as error:
                limit.count_corrupt_read(error)

    def close(self) -> None:
        """Close the open files."""
        self.source.close()

    # -- implementation

    def _listed(self) -> list[ListedSegment]:
        def next_offset(swapped: ListedSegment) -> int:
            return find_end(open_segment(self.source, swapped, is_last=False).view)[1]

        return list_segments(self.list_names(), next_offset)

    def _opened(self, listed: list[ListedSegment]) -> Iterator[ReaderSegment]:
        for each in listed:
            yield open_segment(self.source, each, is_last=each is listed[-1])

    def _offsets(self) -> ReaderOffsets:
        listed = self._listed()
        log_start = self._checkpoints().log_start
        if not listed:
            return ReaderOffsets(log_start, log_start)
        log_start = max(log_start, listed[0].base_offset)
        last = open_segment(self.source, listed[-1], is_last=True)
        log_end = max(log_start, last.next_offset or 0)
        return ReaderOffsets(log_start, log_end, last.file_size - last.view.size)

    def _segments(self) -> list[SegmentDescription]:
        log_end = self._offsets().log_end
        listed = self._listed()
        ends = [each.base_offset for each in listed[1:]] + [log_end]
        found = []
        for each, end in zip(listed, ends, strict=True):
            name = each.name(LOG)
            stat = self.source.stat(name)
            path = f"{self.source.path}/{name}"
            found.append(
                SegmentDescription(each.base_offset, end, stat.size, stat.modified_ms, path)
            )
        return found

    def _find_by_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        listed = self._listed()
        log_start = self._checkpoints().log_start
        for segment in self._opened(listed):
            found = segment.find_by_timestamp(timestamp, log_start)
            if found is not None:
                return found
        return None


class _Listing:
    """The segments of one listing, and when the directory had last changed before it."""

    __slots__ = ("_bases", "_changed_ms", "segments")

    def __init__(self, source: SegmentSource, list_now: Callable[[], list[ListedSegment]]) -> None:
        self._changed_ms = source.changed_ms()
        self.segments = list_now()
        self._bases = [each.base_offset for each in self.segments]

    def place_of(self, offset: int) -> int:
        """Return the number of the segment that has an offset, or of the first one."""
        return max(0, bisect_right(self._bases, offset) - 1)

    def is_current(self, source: SegmentSource) -> bool:
        """Return whether no file was created, renamed or removed since."""
        return self._changed_ms is not None and source.changed_ms() == self._changed_ms


class PartitionWalk:
    """Reads of a partition, in any number, with one listing of its directory."""

    __slots__ = ("_bounds", "_listing", "_reader")

    def __init__(self, reader: PartitionReader) -> None:
        self._reader = reader
        self._listing: _Listing | None = None
        self._bounds: ReaderOffsets | None = None

    def batches(self, start: int = 0, end: int | None = None) -> Iterator[FoundBatch]:
        """Yield batches; see `PartitionReader.batches`."""
        return self._follow(start, end, SegmentWalk.batches)

    def buffers(
        self,
        start: int = 0,
        end: int | None = None,
        *,
        max_bytes: int = RUN_BYTES,
        is_kept: bool = False,
    ) -> Iterator[SegmentBatchRun]:
        """Yield runs of batches; see `PartitionReader.buffers`."""
        limit = max(max_bytes, LARGEST_HEADER)
        window = None if is_kept else bytearray(limit)

        def runs(walk: SegmentWalk, end_offset: int) -> Iterator[SegmentBatchRun]:
            return walk.runs(end_offset, limit, window=window)

        return self._follow(start, end, runs)

    def segment_from(self, offset: int) -> SegmentWalk | None:
        """Return a walk from the first batch with `offset` or a later one; None at the log end."""
        listing, self._listing = self._listing, None  # an error leaves no listing
        found = None if listing is None else self._find(listing, offset)
        if listing is None or not self._is_certain(listing, found, offset):
            listing = _Listing(self._reader.source, self._reader.list_segments)
            found = self._find(listing, offset)
        self._listing = listing
        return found

    def _is_certain(self, listing: _Listing, found: SegmentWalk | None, offset: int) -> bool:
        """Return whether no segment that is not in the listing can have the offset."""
        if found is None:
            return False
        return found.first.base_offset == offset or listing.is_current(self._reader.source)

    def _find(self, listing: _Listing, offset: int) -> SegmentWalk | None:
        segments = listing.segments
        for place in range(listing.place_of(offset), len(segments)):
            is_last = place + 1 == len(segments)
            segment = open_segment(self._reader.source, segments[place], is_last=is_last)
            first = segment.find(offset)
            if first is not None:
                return SegmentWalk(segment, first)
        return None

    def _follow(
        self,
        start: int,
        end: int | None,
        read: Callable[[SegmentWalk, int], Iterator[Item]],
    ) -> Iterator[Item]:
        """Yield items from segment to segment; after a change, look up the next offset again."""
        if self._bounds is None:
            self._bounds = self._reader.offsets()
        offset = max(start, self._bounds.log_start)
        end = self._bounds.log_end if end is None else end
        limit = _RetryLimit(self._reader.source.path)
        while offset < end:
            try:
                walk = self.segment_from(offset)
                if walk is None or is_beyond(walk.first, end, after=offset):
                    return
                for item in read(walk, end):
                    yield item
                    offset = item.next_offset
                    limit.reset()
            except (FileNotFoundError, SegmentChangedError) as error:
                self._listing = None
                limit.count_change(error)
            except CorruptMessageError as error:
                self._listing = None
                limit.count_corrupt_read(error)
