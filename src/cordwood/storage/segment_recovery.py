"""Makes a segment right that nobody closed: what is whole and follows is kept, the rest is cut off.

    size and magic   bound the batch within the file
    checksum         over the batch as it lies; its records are not read, as Kafka does not
    offset           follows the ones before it, and has a place in the segment
    caller           hears of each batch, for its epochs and producers, and may refuse it too

With a strider many batches are passed at once, and the caller hears of those that say something.

The first batch that fails ends the log: nothing behind it can be believed, for a file system may
have written a later page and lost an earlier one. The indexes are written anew; that of the
transactions the caller fills as it hears of markers. Windows are large, since everything is read.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import CorruptMessageError, DamagedFileError, InvalidRecordError
from cordwood.core.ports import OpenFile
from cordwood.records.header import LARGEST_HEADER, BatchHeader, ensure_crc, read_header
from cordwood.records.place import Place
from cordwood.records.stride import Pace, Strider
from cordwood.storage.index import relative_offset
from cordwood.storage.index_growth import IndexGrowth
from cordwood.storage.reader_indexes import CheckedOffsetIndex, CheckedTimeIndex
from cordwood.storage.scan import headers
from cordwood.storage.segment import Segment

WINDOW_SIZE: Final = 4 << 20

#: Hears of a whole batch: its header, with its position in the file, and its bytes, which are only
#: valid during the call. CorruptMessageError and InvalidRecordError end the log before the batch.
OnBatch: TypeAlias = Callable[[BatchHeader, memoryview], object]

#: Returns a strider if none of the batches that follow has to be looked at for its own sake.
StriderNow: TypeAlias = Callable[[], Strider | None]


def _never() -> None:
    """Let every batch be looked at."""


def _cut(_end: int) -> None:
    """Let it be cut off."""


class Recovered(NamedTuple):
    """How many bytes were cut off, and what was wrong with the first of them."""

    cut_bytes: int
    fault: CorruptMessageError | InvalidRecordError | None
    next_offset: int


def is_sane(segment: Segment) -> bool:
    """Whether a segment that was closed may be used without recovery.

    That takes an offset index, and aborted transactions that are its own; a time index that is
    missing is made, empty. Zeros behind the entries were not cut off before a crash. What else the
    indexes say of the log is not looked at but where the log ends (`ends_whole`).
    """
    files = segment.files
    if not files.offset_entries.exists or files.is_padded():
        return False
    if not files.time_entries.exists:
        files.time_entries.trim()
    try:
        files.transaction_index.check()
    except DamagedFileError:
        return False
    return True


def ends_whole(segment: Segment) -> bool:
    """Whether the indexes end truly, and batches follow from there up to the very end.

    The next append goes on from there: behind an entry that lies none could be written.
    """
    position, next_offset = segment.files.offset_index.last.position, segment.base_offset
    if position < 0:
        return False
    try:
        for header in headers(segment.files.pread, position, segment.size):
            position, next_offset = header.end, header.next_offset
    except CorruptMessageError:
        return False
    is_whole = position == segment.size and next_offset <= INT64_MAX
    return is_whole and _has_true_ends(segment, next_offset)


def _has_true_ends(segment: Segment, next_offset: int) -> bool:
    """Whether each index has whole entries, and its last one names what the log has there."""
    files = segment.files
    offset_index, time_index, aborted = (
        files.offset_index,
        files.time_index,
        files.transaction_index.last,
    )
    try:
        offset_index.check()
        time_index.check()
    except DamagedFileError:
        return False
    named = [index.last.offset for index in (offset_index, time_index) if index.entries.count]
    named += [] if aborted is None else [aborted.last_offset]
    offsets = CheckedOffsetIndex(
        segment.base_offset, offset_index.entries, pread=files.pread, size=segment.size
    )
    times = CheckedTimeIndex(time_index.entries, offsets, pread=files.pread, size=segment.size)
    return (
        max(named, default=-1) < next_offset
        and offsets.lookup(offset_index.last.offset) == offset_index.last
        and times.last == time_index.last
    )


def recover(
    segment: Segment,
    on_batch: OnBatch,
    *,
    strider_now: StriderNow = _never,
    before_cut: Callable[[int], object] = _cut,
) -> Recovered:
    """Check every batch, write the indexes anew, cut off what is not whole.

    `before_cut` is called once it is known that something is to be cut off, if so, and where; what
    it raises leaves the segment with all of its records, and without indexes.
    SegmentOverflowError rises, with the segment left without indexes, where an offset has no place.
    """
    files = segment.files
    files.reset_indexes()
    growth = segment.new_growth()
    log = files.table.pin(files.log_path)
    walk = _Walk(
        windows=_Windows(log, segment.size),
        growth=growth,
        on_batch=on_batch,
        strider_now=strider_now,
        base_offset=segment.base_offset,
        next_offset=segment.base_offset,
    )
    fault: CorruptMessageError | InvalidRecordError | None = None
    try:
        walk.go()
    except (CorruptMessageError, InvalidRecordError) as error:
        fault = error
    finally:
        files.table.unpin(log)
    if walk.end < segment.size:
        before_cut(walk.end)
    cut_bytes = segment.cut_at(walk.end)
    files.write_entries(growth)
    segment.recovered(growth)
    return Recovered(cut_bytes, fault, walk.next_offset)


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The way through a segment, as far as it is sound: `end` and `next_offset` tell."""

    windows: "_Windows"
    growth: IndexGrowth
    on_batch: OnBatch
    strider_now: StriderNow
    base_offset: int
    next_offset: int
    end: int = 0
    pace: Pace = field(default_factory=Pace)

    def go(self) -> None:
        """Look at every batch, or stride over those that need no look."""
        while (found := self.windows.batch_at(self.end)) is not None:
            self._look(*found)
            if self.pace.is_due() and (strider := self.strider_now()) is not None:
                self._stride(strider)

    def _look(self, header: BatchHeader, data: memoryview) -> None:
        ensure_crc(header, data)
        _ensure_follows(header, self.next_offset)
        relative_offset(header.last_offset, self.base_offset)
        self.on_batch(header, data)
        self.growth.add(header, header.position)
        self.end, self.next_offset = header.end, header.next_offset

    def _stride(self, strider: Strider) -> None:
        """Stride as far as that goes; where it leads nowhere, look at more before the next."""
        begin = self.end
        data = self.windows.rest(begin)[: max(0, INT32_MAX - begin)]
        stride = strider.stride(data, self.growth.footing(self.next_offset))
        for at in stride.heard:
            header = read_header(data, at, position=begin + at)
            assert header is not None, "what was passed is whole"
            self.on_batch(header, data[at : at + header.size])
        self.growth.add_stride(stride, begin)
        self.end, self.next_offset = begin + stride.end, stride.footing.next_offset
        self.pace.went(stride.batches)


def _ensure_follows(header: BatchHeader, next_offset: int) -> None:
    """Refuse a batch whose offsets, which no checksum covers, lie below those before it.

    A write of which the first page was lost looks like that: what comes before it is still right.
    """
    if not next_offset <= header.base_offset <= header.last_offset < INT64_MAX:
        raise Place(header.position, header.base_offset).corrupt(
            "offsets that do not follow those before them",
            expected=f"at least {next_offset}",
            found=f"{header.base_offset} to {header.last_offset}",
        )


class _Windows:
    """A file's bytes, out of one buffer that is used again."""

    __slots__ = ("_file", "_held", "_size", "_start", "_window")

    def __init__(self, file: OpenFile, size: int) -> None:
        self._file = file
        self._size = size
        self._window = memoryview(bytearray(max(LARGEST_HEADER, min(WINDOW_SIZE, size))))
        self._held, self._start = self._window[:0], -1

    def rest(self, position: int) -> memoryview:
        """Return what is held from a position on."""
        return self._held[position - self._start :]

    def batch_at(self, position: int) -> tuple[BatchHeader, memoryview] | None:
        """Return the batch at a position, and its bytes; None where no whole one is."""
        if position >= self._size:
            return None
        held = self.rest(position)
        header = read_header(held, position=position)
        while header is None or header.end > position + len(held):
            needed = LARGEST_HEADER if header is None else header.size
            is_cut_off = header is not None and header.end > self._size
            if is_cut_off or (self._start == position and needed <= len(self._window)):
                return None
            held = self._read(position, needed)
            header = read_header(held, position=position)
        return header, held[: header.size]

    def _read(self, position: int, needed: int) -> memoryview:
        """Hold what lies from a position on."""
        if needed > len(self._window):
            self._window = memoryview(bytearray(needed))
        into = self._window[: self._size - position]
        self._held, self._start = into[: self._file.pread_into(into, position)], position
        return self._held
