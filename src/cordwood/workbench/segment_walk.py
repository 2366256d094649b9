"""The batches of one segment's file, in stretches as large as a window, past what is damaged.

    stretch   whole batches that follow each other, with positions in the file
    break     where no sound batch is, and where the next one begins: at the end without one

After a break the next batch is where the broken one says that it ends, if one is there, or the
first one found whose checksum is right. Old messages are found in the first of these ways only.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.core.ports import SegmentSource
from cordwood.records.batch import HEADER_SIZE, MAGIC
from cordwood.records.header import LARGEST_HEADER, BatchHeader, read_header
from cordwood.records.stream import batch_at
from cordwood.records.sweep import Swept
from cordwood.storage.reader_listing import SegmentChangedError

#: Large enough that a pass costs little beside it.
WINDOW_BYTES: Final = 2 << 20
#: How much is looked through at a time for a batch behind damage.
SEARCH_BYTES: Final = 4 << 20
_MAGIC_AT: Final = 16
_MAGIC_BYTE: Final = bytes([MAGIC])

#: Pass over a buffer that begins with a batch.
Pass: TypeAlias = Callable[[memoryview], Swept]


class Stretch(NamedTuple):
    """Whole batches from `position` to `end`. `data` lasts until the next one is asked for."""

    position: int
    end: int
    data: memoryview
    swept: Swept


class Break(NamedTuple):
    """No sound batch from `position` to `end`; `fault` is None where one is cut off.

    `header` is what stands at the position, if it can be a header.
    """

    position: int
    end: int
    fault: BadRecordsError | None
    header: BatchHeader | None


class SegmentFile(NamedTuple):
    """The first `size` bytes of a segment's log; `tell` hears of every byte read."""

    source: SegmentSource
    name: str
    size: int
    tell: Callable[[int], object]

    @property
    def path(self) -> str:
        return f"{self.source.path}/{self.name}"

    def read(self, length: int, position: int) -> bytes:
        """Return bytes that are there; fewer only at the end."""
        return self.source.read(self.name, min(length, self.size - position), position)


def walk(file: SegmentFile, sweep: Pass) -> Iterator[Stretch | Break]:
    """Yield all of the file, in order; SegmentChangedError if it was cut meanwhile."""
    window = memoryview(bytearray(min(WINDOW_BYTES, max(file.size, 1))))
    position = 0
    while position < file.size:
        data = window[: min(len(window), file.size - position)]
        if file.source.read_into(file.name, data, position) < len(data):
            raise SegmentChangedError(f"{file.path} has been cut")
        swept = sweep(data)
        end = position + swept.end
        if swept.end:
            file.tell(swept.end)
            yield Stretch(position, end, data[: swept.end], swept)
        elif swept.fault is None and len(data) < swept.needed <= file.size - position:
            window = memoryview(bytearray(swept.needed))
            continue
        position = end
        if swept.fault is not None or not swept.end:
            broken = _break_at(file, position, swept.fault)
            file.tell(broken.end - position)
            yield broken
            position = broken.end


def _break_at(file: SegmentFile, position: int, fault: BadRecordsError | None) -> Break:
    header = _header(file.read(LARGEST_HEADER, position), 0, position)
    next_offset = 0 if header is None else header.base_offset
    if header is not None and header.end <= file.size:
        is_end = header.end == file.size
        behind = None if is_end else header_at(file, header.end)
        is_next = behind is not None and behind.base_offset > next_offset
        if is_end or (is_next and behind is not None and _is_whole(file, behind)):
            return Break(position, header.end, fault, header)
    return Break(position, _search(file, position + 1), fault, header)


def header_at(file: SegmentFile, position: int) -> BatchHeader | None:
    """Return the header of the batch that begins there, if one can."""
    return _header(file.read(LARGEST_HEADER, position), 0, position)


def _search(file: SegmentFile, position: int) -> int:
    """Return where the first whole batch begins at or behind a position; the end without one."""
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


def _is_whole(file: SegmentFile, header: BatchHeader) -> bool:
    """Whether a header is that of a batch whose checksum is right."""
    if header.end > file.size or not 0 <= header.base_offset <= header.last_offset:
        return False
    data = file.read(header.size, header.position)
    batch = batch_at(data, 0)
    return batch is not None and batch.is_crc_valid()
