"""One segment of a directory that another process owns; opening it reads about one block.

    inactive   as long as its file: it ends with a whole batch, or it is damaged
    last       ends with its last whole batch. A tail may follow: of a write in progress or an
               interrupted one, or preallocated zeros

No whole batch follows in a tail, except in the values of a torn batch (`records.torn_batch`). A
batch with a wrong checksum before a valid batch is not a tail: it belongs to the segment, and
reading it raises CorruptMessageError.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from shlex import quote
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.core.ports import SegmentSource
from cordwood.records.batch_header import LARGEST_HEADER, BatchHeader, ensure_crc, read_header
from cordwood.records.record_batch import MAGIC
from cordwood.records.torn_batch import is_torn
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.file_names import INDEX, LOG, TIME_INDEX
from cordwood.storage.files.header_scan import find_batch, headers
from cordwood.storage.reader.checked_indexes import (
    CheckedOffsetIndex,
    CheckedTimeIndex,
    open_entries,
)
from cordwood.storage.reader.segment_listing import ListedSegment, SegmentChangedError
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE
from cordwood.storage.segment.segment_view import SegmentView, TimestampAndOffset
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE

#: The distance in which a valid batch is searched after an invalid one: a large batch's size.
RESYNC_BYTES: Final = 4 << 20

_MAGIC_AT: Final = 16
_MAGIC_BYTE: Final = bytes([MAGIC])


class ReaderSegment(NamedTuple):
    """An opened segment. `file_size` includes the tail, the view does not.

    `next_offset` is set for the last segment only; others end at the next one's base offset.
    """

    source: SegmentSource
    listed: ListedSegment
    file_size: int
    view: SegmentView
    next_offset: int | None

    @property
    def base_offset(self) -> int:
        return self.listed.base_offset

    @property
    def log_name(self) -> str:
        return self.listed.name(LOG)

    @property
    def log_path(self) -> str:
        return f"{self.source.path}/{self.log_name}"

    def end_offset(self) -> int:
        """Return the offset after the last batch, from the headers."""
        begin = self.view.offset_index.lookup_below_position(self.view.size).position
        last, _ = _end_of(_valid_headers(self.view, begin), begin)
        return self.base_offset if last is None else last.next_offset

    def find(self, offset: int) -> BatchHeader | None:
        """Return the first batch whose last offset is `offset` or above; None if all are below.

        A batch that runs past the end of the segment raises CorruptMessageError.
        """
        view = self.view
        begin = view.offset_index.lookup(offset).position
        try:
            found = find_batch(view.pread, begin, view.size, offset=offset)
            if found is not None:
                return found
            last, end = _end_of(headers(view.pread, begin, view.size), begin)
        except CorruptMessageError as error:
            raise with_location(error, self.log_path) from error
        if end < view.size:
            raise self.truncated_error(end, self.base_offset if last is None else last.next_offset)
        return None

    def find_by_timestamp(self, timestamp: int, first_offset: int) -> TimestampAndOffset | None:
        """Return the first record from `first_offset` on that is not earlier than `timestamp`."""
        try:
            if self.view.latest_timestamp().timestamp < timestamp:
                return None
            return self.view.find_by_timestamp(timestamp, first_offset)
        except BadRecordsError as error:
            raise with_location(error, self.log_path) from error

    def largest_timestamp(self) -> int:
        """Return the largest timestamp; without one, the time of the file's last change."""
        latest = self.view.latest_timestamp().timestamp
        return latest if latest >= 0 else self.source.stat(self.log_name).modified_ms

    def truncated_error(self, position: int, next_offset: int) -> BadRecordsError:
        """Return the error for a batch that runs past the end of the segment."""
        error = CorruptMessageError(
            "the batch runs past the end of its segment",
            position=position,
            base_offset=next_offset,
            expected=f"at most {self.view.size - position} bytes",
            found="more",
        )
        return with_location(error, self.log_path)

    def data_of(self, header: BatchHeader) -> bytes:
        """Return the bytes of a batch; SegmentChangedError if the file has changed there."""
        data = self.source.read(self.log_name, header.size, header.position)
        if len(data) < header.size or not has_header(header, data):
            raise SegmentChangedError(f"{self.log_path} has changed at {header.position}")
        return data


def open_segment(source: SegmentSource, listed: ListedSegment, *, is_last: bool) -> ReaderSegment:
    """Open a segment; FileNotFoundError if it does not exist any more."""
    name = listed.name(LOG)
    size = source.stat(name).size
    pread = partial(source.read, name)
    entries = open_entries(source, listed.index_names(INDEX), entry_size=OFFSET_ENTRY_SIZE)
    offset_index = CheckedOffsetIndex(listed.base_offset, entries, pread=pread, size=size)
    entries = open_entries(source, listed.index_names(TIME_INDEX), entry_size=TIME_ENTRY_SIZE)
    time_index = CheckedTimeIndex(entries, offset_index, pread=pread, size=size)
    view = SegmentView(listed.base_offset, size, pread, offset_index, time_index)
    if not is_last:
        return ReaderSegment(source, listed, size, view, None)
    end, next_offset = find_end(view)
    return ReaderSegment(source, listed, size, view._replace(size=end), next_offset)


def find_end(view: SegmentView) -> tuple[int, int]:
    """Return the end position of the last whole batch of a segment, and the offset after it."""
    # One block is enough if the last indexed part ends with a whole batch and only a tail follows.
    # Any other segment is read from its beginning.
    begin = view.offset_index.lookup_below_position(view.size).position
    last, end = _end_of(_valid_headers(view, begin), begin)
    if last is not None and _is_whole(view, last):
        has_no_tail = end == view.size
        if has_no_tail or _find_whole_batch(view, end, next_offset=last.next_offset) is None:
            return end, last.next_offset
    return _find_end_by_reading(view)


def has_header(header: BatchHeader, data: Buffer) -> bool:
    """Return whether `data` begins with the header."""
    try:
        return read_header(data, position=header.position) == header
    except CorruptMessageError:
        return False


def with_location(error: BadRecordsError, path: str, *, shift: int = 0) -> BadRecordsError:
    """Return the error with the file, the position in it, and the remedy."""
    what = str(error.args[0]) if error.args else ""
    return type(error)(
        f"{path}: {what}",
        position=None if error.position is None else error.position + shift,
        base_offset=error.base_offset,
        expected=error.expected,
        found=error.found,
        remedy="restore the file from a replica, or copy the readable records with: "
        f"cordwood log salvage {quote(directory_of(path))} --out NEWDIR",
    )


def _find_end_by_reading(view: SegmentView) -> tuple[int, int]:
    """Read the whole segment; return the end of the last batch with a right checksum."""
    position: int | None = 0
    end, next_offset = 0, view.base_offset
    while position is not None:
        # The size of a batch that is not whole cannot be trusted either.
        suspect: int | None = None
        for header in _valid_headers(view, position):
            position = header.end
            if _is_whole(view, header):
                end, next_offset, suspect = header.end, header.next_offset, None
            elif suspect is None:
                suspect = header.position
        begin = position if suspect is None else suspect
        position = _find_whole_batch(view, begin, next_offset=next_offset)
    return end, next_offset


def _find_whole_batch(view: SegmentView, position: int, *, next_offset: int) -> int | None:
    """Return the position of the first whole batch after `position`; None without one."""
    if _is_torn_at(view, position, next_offset=next_offset):
        return None
    data = bytes(view.pread(min(RESYNC_BYTES, view.size - position), position))
    found = data.find(_MAGIC_BYTE, _MAGIC_AT + 1)
    while found >= 0:
        header = _header_at(data, found - _MAGIC_AT, position)
        is_later = header is not None and header.base_offset >= next_offset
        if header is not None and is_later and header.end <= view.size and _is_whole(view, header):
            return header.position
        found = data.find(_MAGIC_BYTE, found + 1)
    return None


def _is_torn_at(view: SegmentView, position: int, *, next_offset: int) -> bool:
    """Return whether the rest of a file is the begin of a batch; its values may contain batches."""
    header = _header_at(bytes(view.pread(LARGEST_HEADER, position)), 0, position)
    if header is None or header.end <= view.size or header.base_offset < next_offset:
        return False
    return is_torn(view.pread(view.size - position, position), header)


def _header_at(data: bytes, at: int, position: int) -> BatchHeader | None:
    try:
        return read_header(data, at, position=position + at)
    except CorruptMessageError:
        return None


def _end_of(walk: Iterable[BatchHeader], position: int) -> tuple[BatchHeader | None, int]:
    """Return the last batch of a walk from `position` on, and its end position."""
    last = None
    for last in walk:
        position = last.end
    return last, position


def _valid_headers(view: SegmentView, position: int) -> Iterator[BatchHeader]:
    """Yield headers up to the first invalid one."""
    with suppress(CorruptMessageError):
        yield from headers(view.pread, position, view.size)


def _is_whole(view: SegmentView, header: BatchHeader) -> bool:
    data = memoryview(view.data_of(header))
    if len(data) < header.size:
        return False
    try:
        ensure_crc(header, data)
    except CorruptMessageError:
        return False
    return True
