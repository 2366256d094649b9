"""Walk over the batches of one segment file, in ranges of at most a window, past damage.

    swept range    consecutive whole batches, with their positions in the file
    broken range   no valid batch, up to the next one or to the end of the file

Behind a broken range, the next batch is where the broken batch claims to end, if one is there.
Otherwise it is the first one found with a valid checksum; a search does not find v0 and v1
messages.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.core.ports import SegmentSource
from cordwood.records.batch_checks import CheckedBatches
from cordwood.records.batch_header import LARGEST_HEADER, BatchHeader, read_header
from cordwood.records.batch_stream import batch_at
from cordwood.records.record_batch import HEADER_SIZE, MAGIC
from cordwood.storage.reader.segment_listing import SegmentChangedError

#: Large enough that the cost of a call is small.
WINDOW_BYTES: Final = 2 << 20
#: Bytes read at a time in the search for a batch behind damage.
SEARCH_BYTES: Final = 4 << 20
_MAGIC_AT: Final = 16
_MAGIC_BYTE: Final = bytes([MAGIC])

#: Checks or counts the batches of a buffer that begins with a batch.
SweepFunction: TypeAlias = Callable[[memoryview], CheckedBatches]


class SweptRange(NamedTuple):
    """Whole batches from `position` to `end`. `data` is valid until the next range is read."""

    position: int
    end: int
    data: memoryview
    swept: CheckedBatches


class BrokenRange(NamedTuple):
    """A range without a valid batch; `fault` is None if a batch is cut off there.

    `header` is parsed at the position, if the bytes can be a header.
    """

    position: int
    end: int
    fault: BadRecordsError | None
    header: BatchHeader | None


class SegmentLogFile(NamedTuple):
    """The first `size` bytes of a `.log` file; `on_bytes` receives the number of bytes walked."""

    source: SegmentSource
    name: str
    size: int
    on_bytes: Callable[[int], object]

    @property
    def path(self) -> str:
        return f"{self.source.path}/{self.name}"

    def read(self, length: int, position: int) -> bytes:
        """Return bytes of the file; fewer only at its end."""
        return self.source.read(self.name, min(length, self.size - position), position)


def walk_segment(file: SegmentLogFile, sweep: SweepFunction) -> Iterator[SweptRange | BrokenRange]:
    """Yield the ranges of the file in order; SegmentChangedError if it shrank meanwhile."""
    window = memoryview(bytearray(min(WINDOW_BYTES, max(file.size, 1))))
    position = 0
    while position < file.size:
        data = window[: min(len(window), file.size - position)]
        if file.source.read_into(file.name, data, position) < len(data):
            raise SegmentChangedError(f"{file.path} was truncated")
        swept = sweep(data)
        end = position + swept.end
        if swept.end:
            file.on_bytes(swept.end)
            yield SweptRange(position, end, data[: swept.end], swept)
        elif swept.fault is None and len(data) < swept.needed <= file.size - position:
            window = memoryview(bytearray(swept.needed))
            continue
        position = end
        if swept.fault is not None or not swept.end:
            broken = _broken_at(file, position, swept.fault)
            file.on_bytes(broken.end - position)
            yield broken
            position = broken.end


def _broken_at(file: SegmentLogFile, position: int, fault: BadRecordsError | None) -> BrokenRange:
    header = _header(file.read(LARGEST_HEADER, position), 0, position)
    next_offset = 0 if header is None else header.base_offset
    if header is not None and header.end <= file.size:
        is_end = header.end == file.size
        behind = None if is_end else header_at(file, header.end)
        is_next = behind is not None and behind.base_offset > next_offset
        if is_end or (is_next and behind is not None and _is_whole(file, behind)):
            return BrokenRange(position, header.end, fault, header)
    return BrokenRange(position, _search(file, position + 1), fault, header)


def header_at(file: SegmentLogFile, position: int) -> BatchHeader | None:
    """Return the header at a position, None if the bytes cannot be one."""
    return _header(file.read(LARGEST_HEADER, position), 0, position)


def _search(file: SegmentLogFile, position: int) -> int:
    """Return the position of the first whole batch from a position on, or the end of the file."""
    while file.size - position >= HEADER_SIZE:
        data = file.read(SEARCH_BYTES, position)
        found = data.find(_MAGIC_BYTE, _MAGIC_AT)
        while found >= 0:
            header = _header(data, found - _MAGIC_AT, position + found - _MAGIC_AT)
            if header is not None and header.magic == MAGIC and _is_whole(file, header):
                return header.position
            found = data.find(_MAGIC_BYTE, found + 1)
        position += max(len(data) - LARGEST_HEADER + 1, 1)
    return file.size


def _header(data: bytes, at: int, position: int) -> BatchHeader | None:
    try:
        return read_header(data, at, position=position)
    except CorruptMessageError:
        return None


def _is_whole(file: SegmentLogFile, header: BatchHeader) -> bool:
    """Return whether a header belongs to a batch with a valid checksum."""
    if header.end > file.size or not 0 <= header.base_offset <= header.last_offset:
        return False
    data = file.read(header.size, header.position)
    batch = batch_at(data, 0)
    return batch is not None and batch.is_crc_valid()
