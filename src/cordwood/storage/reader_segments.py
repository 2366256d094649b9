"""One segment of a directory that somebody else owns, as it is now; a look reads hardly a block.

    inactive   as long as its file; ends with a whole batch, or it is damaged
    last       ends with its last whole batch: what follows is the tail of a write that goes on or
               that a crash has cut off, or what was preallocated

A tail is what no whole batch follows. A batch whose checksum is wrong and behind which another one
is right is no tail: it stays within the segment, and whoever reads it is told of the damage.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.core.ports import SegmentSource
from cordwood.records.batch import MAGIC
from cordwood.records.header import BatchHeader, ensure_crc, read_header
from cordwood.storage.index import OFFSET_ENTRY_SIZE, TIME_ENTRY_SIZE
from cordwood.storage.names import INDEX, LOG, TIME_INDEX
from cordwood.storage.reader_indexes import CheckedOffsetIndex, CheckedTimeIndex, open_entries
from cordwood.storage.reader_listing import ListedSegment, SegmentChangedError
from cordwood.storage.scan import batch_with, headers
from cordwood.storage.segment_reads import SegmentView, TimestampAndOffset

#: How far behind what is no batch one is looked for: as far as a large one may reach.
RESYNC_BYTES: Final = 4 << 20

_MAGIC_AT: Final = 16
_MAGIC_BYTE: Final = bytes([MAGIC])


class ReaderSegment(NamedTuple):
    """A segment that has been looked at. `file_size` counts the tail, the view does not.

    Of the last one it is known where its batches end, which of others the next one says.
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
        """Return the offset behind its last batch, as the headers say."""
        begin = self.view.offset_index.below_position(self.view.size).position
        last, _ = _end_of(_headers_silently(self.view, begin), begin)
        return self.base_offset if last is None else last.next_offset

    def find(self, offset: int) -> BatchHeader | None:
        """Return the first batch whose last offset is `offset` or above; None if all are below.

        A batch that runs past the end hides what is behind it, and is damage.
        """
        view = self.view
        begin = view.offset_index.lookup(offset).position
        try:
            found = batch_with(view.pread, begin, view.size, offset=offset)
            if found is not None:
                return found
            last, end = _end_of(headers(view.pread, begin, view.size), begin)
        except CorruptMessageError as error:
            raise located(error, self.log_path) from error
        if end < view.size:
            raise self.cut_off(end, self.base_offset if last is None else last.next_offset)
        return None

    def find_by_timestamp(self, timestamp: int, first_offset: int) -> TimestampAndOffset | None:
        """Return the first record from `first_offset` on that is not earlier than `timestamp`."""
        try:
            if self.view.latest_timestamp().timestamp < timestamp:
                return None
            return self.view.find_by_timestamp(timestamp, first_offset)
        except BadRecordsError as error:
            raise located(error, self.log_path) from error

    def largest_timestamp(self) -> int:
        """Return the latest time of a batch, or else the file's last change."""
        latest = self.view.latest_timestamp().timestamp
        return latest if latest >= 0 else self.source.stat(self.log_name).modified_ms

    def cut_off(self, position: int, next_offset: int) -> BadRecordsError:
        """Return the error that says that the segment does not end where a batch does."""
        error = CorruptMessageError(
            "a batch that runs past the end of its segment",
            position=position,
            base_offset=next_offset,
            expected=f"at most {self.view.size - position} bytes",
            found="more",
        )
        return located(error, self.log_path)

    def data_of(self, header: BatchHeader) -> bytes:
        """Return the bytes of a batch; SegmentChangedError if it is not there any more."""
        data = self.source.read(self.log_name, header.size, header.position)
        if len(data) < header.size or not is_header(header, data):
            raise SegmentChangedError(f"{self.log_path} has changed at {header.position}")
        return data


def open_segment(source: SegmentSource, listed: ListedSegment, *, is_last: bool) -> ReaderSegment:
    """Look at a segment; FileNotFoundError if it is gone."""
    name = listed.name(LOG)
    size = source.stat(name).size
    pread = partial(source.read, name)
    entries = open_entries(source, listed.name(INDEX), entry_size=OFFSET_ENTRY_SIZE)
    offset_index = CheckedOffsetIndex(listed.base_offset, entries, pread=pread, size=size)
    entries = open_entries(source, listed.name(TIME_INDEX), entry_size=TIME_ENTRY_SIZE)
    time_index = CheckedTimeIndex(entries, offset_index, pread=pread, size=size)
    view = SegmentView(listed.base_offset, size, pread, offset_index, time_index)
    if not is_last:
        return ReaderSegment(source, listed, size, view, None)
    end, next_offset = settled(view)
    return ReaderSegment(source, listed, size, view._replace(size=end), next_offset)


def settled(view: SegmentView) -> tuple[int, int]:
    """Return where the last whole batch of a segment ends, and the offset after it.

    That the last one is whole and nothing follows takes a block to see; anything else takes all.
    """
    begin = view.offset_index.below_position(view.size).position
    last, end = _end_of(_headers_silently(view, begin), begin)
    if last is not None and _is_whole(view, last):
        is_end = end == view.size
        if is_end or _whole_behind(view, end, next_offset=last.next_offset) is None:
            return end, last.next_offset
    return _settled_by_reading(view)


def is_header(header: BatchHeader, data: Buffer) -> bool:
    """Whether `data` begins with that header still."""
    try:
        return read_header(data, position=header.position) == header
    except CorruptMessageError:
        return False


def located(error: BadRecordsError, path: str, *, shift: int = 0) -> BadRecordsError:
    """Return the error again, with the file, the position in it, and what to do."""
    what = str(error.args[0]) if error.args else ""
    return type(error)(
        f"{path}: {what}; restore the file from a replica, or read what is before and behind it",
        position=None if error.position is None else error.position + shift,
        base_offset=error.base_offset,
        expected=error.expected,
        found=error.found,
    )


def _settled_by_reading(view: SegmentView) -> tuple[int, int]:
    """Read everything, and return where the last batch ends whose checksum is right."""
    position: int | None = 0
    end, next_offset = 0, view.base_offset
    while position is not None:
        # The size of a batch that is not whole is not to be believed either.
        suspect: int | None = None
        for header in _headers_silently(view, position):
            position = header.end
            if _is_whole(view, header):
                end, next_offset, suspect = header.end, header.next_offset, None
            elif suspect is None:
                suspect = header.position
        begin = position if suspect is None else suspect
        position = _whole_behind(view, begin, next_offset=next_offset)
    return end, next_offset


def _whole_behind(view: SegmentView, position: int, *, next_offset: int) -> int | None:
    """Return where the first whole batch behind `position`, where none begins, does begin."""
    data = bytes(view.pread(min(RESYNC_BYTES, view.size - position), position))
    found = data.find(_MAGIC_BYTE, _MAGIC_AT + 1)
    while found >= 0:
        header = _header_at(data, found - _MAGIC_AT, position)
        is_later = header is not None and header.base_offset >= next_offset
        if header is not None and is_later and header.end <= view.size and _is_whole(view, header):
            return header.position
        found = data.find(_MAGIC_BYTE, found + 1)
    return None


def _header_at(data: bytes, at: int, position: int) -> BatchHeader | None:
    try:
        return read_header(data, at, position=position + at)
    except CorruptMessageError:
        return None


def _end_of(walk: Iterable[BatchHeader], position: int) -> tuple[BatchHeader | None, int]:
    """Return the last batch of a walk that begins at `position`, and where it ends."""
    last = None
    for last in walk:
        position = last.end
    return last, position


def _headers_silently(view: SegmentView, position: int) -> Iterator[BatchHeader]:
    """Yield headers up to what is none."""
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
