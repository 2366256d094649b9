"""A partition's directory, read by somebody who does not own it: live or dead, ours or Kafka's.

Nothing is written, locked or mapped, and nothing that was learnt of the directory is relied on: its
owner may roll, clean, truncate and delete between any two calls. Whoever reads on and finds that
something has changed looks up the next offset again, in what there is by then. So what is read is
in the order of offsets, each batch as it stood in the log at some time during the reading, and none
of them twice; what was cut off meanwhile ends the reading, or is followed by what took its place.

    start   the log start checkpoint beside the directory, or the first segment's base offset
    end     behind the last whole batch: a torn tail is no data

Damage in the middle is CorruptMessageError, with file, position and offset.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeVar

from cordwood.core.errors import CorruptMessageError, LogDirectoryError
from cordwood.core.ports import SegmentSource
from cordwood.records.header import LARGEST_HEADER
from cordwood.storage.names import LOG
from cordwood.storage.reader_gaps import Gap, gaps_between
from cordwood.storage.reader_listing import ListedSegment, SegmentChangedError, segments_among
from cordwood.storage.reader_segments import ReaderSegment, open_segment, settled
from cordwood.storage.reader_walk import BatchRun, FoundBatch, SegmentWalk, is_beyond
from cordwood.storage.segment_reads import TimestampAndOffset

#: As much as is read at a time.
RUN_BYTES: Final = 4 << 20

#: How often the same thing is looked up again before the owner is said to be too fast.
MOST_LOOKS: Final = 100

#: How often damage is looked at before it is believed: what was read may be half written anew.
MOST_DOUBTS: Final = 3

T = TypeVar("T")


class Beside(NamedTuple):
    """What is said of a partition outside of its directory; 0 where nothing is."""

    log_start: int = 0
    cleaned_to: int = 0


class ReaderOffsets(NamedTuple):
    """Where a log starts and ends; `tail_bytes` of the last segment are no whole batch."""

    log_start: int
    log_end: int
    tail_bytes: int = 0


class SegmentFound(NamedTuple):
    """A segment as it is now. The last one's `end_offset` is the log's end."""

    base_offset: int
    end_offset: int
    size: int
    modified_ms: int
    path: str


class _HasNext(Protocol):
    @property
    def next_offset(self) -> int:
        """Where to go on."""


Item = TypeVar("Item", bound=_HasNext)


@dataclass(slots=True)
class _Patience:
    """Counts what goes wrong without getting on; the world changes, damage stays."""

    path: str
    looks: int = 0
    doubts: int = 0

    def renew(self) -> None:
        self.looks = self.doubts = 0

    def lose(self, error: Exception) -> None:
        self.looks += 1
        if self.looks >= MOST_LOOKS:
            raise LogDirectoryError(
                "changes faster than it can be read",
                path=self.path,
                remedy="read a copy of it, or ask the broker",
            ) from error

    def doubt(self, error: CorruptMessageError) -> None:
        """Look again at what may have been written anew in the middle of the reading."""
        self.doubts += 1
        if self.doubts >= MOST_DOUBTS:
            raise error


class PartitionReader:
    """Reads one partition. `beside` is asked whenever the log's start matters."""

    __slots__ = ("_beside", "source")

    def __init__(self, source: SegmentSource, beside: Callable[[], Beside] = Beside) -> None:
        self.source = source
        self._beside = beside

    def __repr__(self) -> str:
        return f"PartitionReader({self.source.path})"

    # -- what there is

    def beside(self) -> Beside:
        """Return what is said of the partition outside of its directory."""
        return self._beside()

    def names(self) -> list[str]:
        """Return the names in the directory."""
        try:
            return self.source.list()
        except FileNotFoundError as error:
            raise LogDirectoryError(
                "is gone: the partition has been deleted or moved",
                path=self.source.path,
                remedy="look for it in the log directories, and open it there",
            ) from error

    def log_start(self) -> int:
        """Return where the log starts, without a look at its end."""
        listed = self.listed()
        return max(self._beside().log_start, listed[0].base_offset if listed else 0)

    def offsets(self) -> ReaderOffsets:
        """Return where the log starts and ends."""
        return self.patiently(self._offsets)

    def segments(self) -> list[SegmentFound]:
        """Return what there is, oldest first."""
        return self.patiently(self._segments)

    def opened(self) -> list[ReaderSegment]:
        """Return all segments, each looked at, oldest first."""
        return self.patiently(lambda: list(self._opened(self._listed())))

    def listed(self) -> list[ListedSegment]:
        """Return the segments there are, oldest first, without opening one."""
        return self.patiently(self._listed)

    # -- reading

    def find(self, offset: int) -> FoundBatch | None:
        """Return the first batch whose last offset is `offset` or above; None at the log's end."""
        walk = self.patiently(lambda: self._walk_from(offset))
        return None if walk is None else FoundBatch(walk.first, walk.segment)

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """Return the first record from the log's start on that is not earlier; None without one."""
        return self.patiently(lambda: self._find_by_timestamp(timestamp))

    def batches(self, start: int = 0, end: int | None = None) -> Iterator[FoundBatch]:
        """Yield the batches that have offsets from `start` up to, not including, `end`.

        Only headers are read. Without an `end` it is the log's end as it is at the beginning.
        """
        return self._follow(start, end, SegmentWalk.batches)

    def buffers(
        self,
        start: int = 0,
        end: int | None = None,
        *,
        max_bytes: int = RUN_BYTES,
        is_kept: bool = False,
    ) -> Iterator[BatchRun]:
        """Yield the same batches as runs of bytes, each of at most `max_bytes` or of one batch.

        Checksums are the decoder's to check. A run's bytes are valid until the next one is asked
        for, unless they are to be kept.
        """
        most = max(max_bytes, LARGEST_HEADER)
        window = None if is_kept else bytearray(most)

        def runs(walk: SegmentWalk, end_offset: int) -> Iterator[BatchRun]:
            return walk.runs(end_offset, most, window=window)

        return self._follow(start, end, runs)

    def gaps(self, start: int = 0, end: int | None = None) -> Iterator[Gap]:
        """Yield the offsets from `start` up to `end` that no batch has, and why."""
        first = max(start, self.offsets().log_start)
        headers = (found.header for found in self.batches(first, end))
        return gaps_between(headers, start=first, cleaned_to=self._beside().cleaned_to)

    def patiently(self, look: Callable[[], T]) -> T:
        """Return what `look` returns, called again when the directory changes under it."""
        patience = _Patience(self.source.path)
        while True:
            try:
                return look()
            except (FileNotFoundError, SegmentChangedError) as error:
                patience.lose(error)
            except CorruptMessageError as error:
                patience.doubt(error)

    def close(self) -> None:
        """Give back what is open."""
        self.source.close()

    # -- inside

    def _follow(
        self,
        start: int,
        end: int | None,
        read: Callable[[SegmentWalk, int], Iterator[Item]],
    ) -> Iterator[Item]:
        """Go from segment to segment, and look up the next offset again where one has changed."""
        bounds = self.offsets()
        offset = max(start, bounds.log_start)
        end = bounds.log_end if end is None else end
        patience = _Patience(self.source.path)
        while offset < end:
            try:
                walk = self._walk_from(offset)
                if walk is None or is_beyond(walk.first, end, after=offset):
                    return
                for item in read(walk, end):
                    yield item
                    offset = item.next_offset
                    patience.renew()
            except (FileNotFoundError, SegmentChangedError) as error:
                patience.lose(error)
            except CorruptMessageError as error:
                patience.doubt(error)

    def _listed(self) -> list[ListedSegment]:
        def next_offset(swapped: ListedSegment) -> int:
            return settled(open_segment(self.source, swapped, is_last=False).view)[1]

        return segments_among(self.names(), next_offset)

    def _opened(self, listed: list[ListedSegment]) -> Iterator[ReaderSegment]:
        for each in listed:
            yield open_segment(self.source, each, is_last=each is listed[-1])

    def _walk_from(self, offset: int) -> SegmentWalk | None:
        """Return a walk from the first batch that has `offset` or what follows it."""
        listed = self._listed()
        above = sum(each.base_offset <= offset for each in listed)
        for segment in self._opened(listed[max(0, above - 1) :]):
            first = segment.find(offset)
            if first is not None:
                return SegmentWalk(segment, first)
        return None

    def _offsets(self) -> ReaderOffsets:
        listed = self._listed()
        log_start = self._beside().log_start
        if not listed:
            return ReaderOffsets(log_start, log_start)
        log_start = max(log_start, listed[0].base_offset)
        last = open_segment(self.source, listed[-1], is_last=True)
        log_end = max(log_start, last.next_offset or 0)
        return ReaderOffsets(log_start, log_end, last.file_size - last.view.size)

    def _segments(self) -> list[SegmentFound]:
        log_end = self._offsets().log_end
        listed = self._listed()
        ends = [each.base_offset for each in listed[1:]] + [log_end]
        found = []
        for each, end in zip(listed, ends, strict=True):
            name = each.name(LOG)
            stat = self.source.stat(name)
            path = f"{self.source.path}/{name}"
            found.append(SegmentFound(each.base_offset, end, stat.size, stat.modified_ms, path))
        return found

    def _find_by_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        listed = self._listed()
        log_start = self._beside().log_start
        for segment in self._opened(listed):
            found = segment.find_by_timestamp(timestamp, log_start)
            if found is not None:
                return found
        return None
