"""Recovery of one segment that was not closed (Kafka: `LogSegment.recover`).

Every batch is checked:

    size and magic   the batch fits into the file
    checksum         of the batch; its records are not decoded, as in Kafka
    offset           is above the batch before, and within the range of the segment's indexes
    caller           `on_batch` receives each batch for epochs and producers, and may reject it

With a strider many valid batches are passed at once, and `on_batch` receives only those among them
that change epochs or producers.

The first invalid batch ends the log. Batches after it cannot be trusted, since a file system may
have written a later page and lost an earlier one. The indexes are rebuilt; the caller fills the
transaction index as it receives markers. Windows are large, since the whole segment is read.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import CorruptMessageError, DamagedFileError, InvalidRecordError
from cordwood.core.ports import OpenFile
from cordwood.records.batch_header import LARGEST_HEADER, BatchHeader, ensure_crc, read_header
from cordwood.records.batch_location import BatchLocation
from cordwood.records.tail_scan import ScanPacing, TailScanner
from cordwood.storage.files.header_scan import headers
from cordwood.storage.reader.checked_indexes import CheckedOffsetIndex, CheckedTimeIndex
from cordwood.storage.segment.abstract_index import relative_offset
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.sparse_index_builder import SparseIndexBuilder

WINDOW_SIZE: Final = 4 << 20

#: Receives the header of a valid batch, with its position in the file, and its bytes, which are
#: valid only during the call. CorruptMessageError and InvalidRecordError end the log before it.
OnBatch: TypeAlias = Callable[[BatchHeader, memoryview], object]

#: Returns a strider while no transaction is open; inside one, every batch must be checked alone.
StriderNow: TypeAlias = Callable[[], TailScanner | None]


def _never() -> None:
    """Return no strider."""


def _ignore_position(_end: int) -> None:
    """Allow the truncation."""


class RecoveredSegment(NamedTuple):
    """The number of truncated bytes, and the fault of the first truncated batch."""

    truncated_bytes: int
    fault: CorruptMessageError | InvalidRecordError | None
    next_offset: int


def is_usable(segment: LogSegment) -> bool:
    """Return whether a closed segment can be used without recovery.

    It needs an offset index without padding, since only a crash leaves the preallocated zeros, and
    a transaction index with offsets of this segment, in order: readers find aborted transactions by
    a binary search. A missing time index is created, empty. Other index entries are checked only at
    the end of the log (`has_clean_end`).
    """
    files = segment.files
    if not files.offset_entries.exists or files.is_padded():
        return False
    if not files.time_entries.exists:
        files.time_entries.trim()
    try:
        files.transaction_index.sanity_check()
        files.transaction_index.check_order()
    except DamagedFileError:
        return False
    return True


def has_clean_end(segment: LogSegment) -> bool:
    """Return whether the last index entries are correct and whole batches follow to the end.

    The next append continues there, and an index accepts no entry after a wrong one.
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


def _has_true_ends(segment: LogSegment, next_offset: int) -> bool:
    """Return whether each index has whole entries, and its last entry agrees with the log."""
    files = segment.files
    offset_index, time_index, aborted = (
        files.offset_index,
        files.time_index,
        files.transaction_index.last,
    )
    try:
        offset_index.sanity_check()
        time_index.sanity_check()
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
    segment: LogSegment,
    on_batch: OnBatch,
    *,
    strider_now: StriderNow = _never,
    before_truncation: Callable[[int], object] = _ignore_position,
) -> RecoveredSegment:
    """Check every batch, rebuild the indexes, and truncate the segment at the first invalid batch.

    `before_truncation` is called with the position before the truncation. If it raises, the
    segment keeps all its records and has no indexes. SegmentOverflowError is raised, also without
    indexes, if an offset is too far from the base offset for an index entry.
    """
    files = segment.files
    files.reset_indexes()
    growth = segment.new_index_builder()
    log = files.open_files.pin(files.log_path)
    scan = _RecoveryScan(
        windows=_RecoveryWindows(log, segment.size),
        growth=growth,
        on_batch=on_batch,
        strider_now=strider_now,
        base_offset=segment.base_offset,
        next_offset=segment.base_offset,
    )
    fault: CorruptMessageError | InvalidRecordError | None = None
    try:
        scan.run()
    except (CorruptMessageError, InvalidRecordError) as error:
        fault = error
    finally:
        files.open_files.unpin(log)
    if scan.end < segment.size:
        before_truncation(scan.end)
    truncated_bytes = segment.truncate_log(scan.end)
    files.write_entries(growth)
    segment.finish_recovery(growth)
    return RecoveredSegment(truncated_bytes, fault, scan.next_offset)


@dataclass(slots=True, kw_only=True)
class _RecoveryScan:
    """A scan of a segment; `end` and `next_offset` are behind the last valid batch."""

    windows: "_RecoveryWindows"
    growth: SparseIndexBuilder
    on_batch: OnBatch
    strider_now: StriderNow
    base_offset: int
    next_offset: int
    end: int = 0
    pace: ScanPacing = field(default_factory=ScanPacing)

    def run(self) -> None:
        """Check every batch, alone or within a stride."""
        while (found := self.windows.batch_at(self.end)) is not None:
            self._check(*found)
            if self.pace.is_due() and (strider := self.strider_now()) is not None:
                self._stride(strider)

    def _check(self, header: BatchHeader, data: memoryview) -> None:
        ensure_crc(header, data)
        _ensure_follows(header, self.next_offset)
        relative_offset(header.last_offset, self.base_offset)
        self.on_batch(header, data)
        self.growth.add(header, header.position)
        self.end, self.next_offset = header.end, header.next_offset

    def _stride(self, strider: TailScanner) -> None:
        """Pass as many batches as possible at once; `pace` delays the next try after few."""
        begin = self.end
        data = self.windows.rest(begin)[: max(0, INT32_MAX - begin)]
        stride = strider.stride(data, self.growth.footing(self.next_offset))
        for at in stride.heard:
            header = read_header(data, at, position=begin + at)
            assert header is not None, "a stride passes whole batches"
            self.on_batch(header, data[at : at + header.size])
        self.growth.add_stride(stride, begin)
        self.end, self.next_offset = begin + stride.end, stride.footing.next_offset
        self.pace.went(stride.batches)


def _ensure_follows(header: BatchHeader, next_offset: int) -> None:
    """Reject a batch whose offsets are below those of the batch before.

    No checksum covers the offsets. A write whose first page was lost looks like this; the batches
    before it are valid.
    """
    if not next_offset <= header.base_offset <= header.last_offset < INT64_MAX:
        raise BatchLocation(header.position, header.base_offset).corrupt(
            "offsets that are not above those of the batch before",
            expected=f"at least {next_offset}",
            found=f"{header.base_offset} to {header.last_offset}",
        )


class _RecoveryWindows:
    """The bytes of a file, read through one reused buffer."""

    __slots__ = ("_file", "_held", "_size", "_start", "_window")

    def __init__(self, file: OpenFile, size: int) -> None:
        self._file = file
        self._size = size
        self._window = memoryview(bytearray(max(LARGEST_HEADER, min(WINDOW_SIZE, size))))
        self._held, self._start = self._window[:0], -1

    def rest(self, position: int) -> memoryview:
        """Return the buffered bytes from a position on."""
        return self._held[position - self._start :]

    def batch_at(self, position: int) -> tuple[BatchHeader, memoryview] | None:
        """Return the batch at a position, and its bytes; None if no whole batch is there."""
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
        """Fill the buffer from a position on."""
        if needed > len(self._window):
            self._window = memoryview(bytearray(needed))
        into = self._window[: self._size - position]
        self._held, self._start = into[: self._file.pread_into(into, position)], position
        return self._held
