"""Walk over the batches of one segment file, in ranges of at most a window, past damage.

    swept range    consecutive whole batches, with their positions in the file
    broken range   no valid batch, up to the next one or to the end of the file

Behind a broken range, the next batch is where the broken batch claims to end, if one is there.
Otherwise it is the first one found with a valid checksum; a search does not find v0 and v1
messages.

The time is linear, even for values that are made of headers with long claims. Behind damage the
windows begin small again and grow, and the checksum of a long claim comes from `range_checksums`.
No candidate is skipped. Only a claim with a valid checksum and invalid records costs its length.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.core.ports import SegmentSource
from cordwood.records.batch_checks import CheckedBatches
from cordwood.records.batch_header import LARGEST_HEADER, BatchHeader, read_header
from cordwood.records.batch_location import BatchLocation
from cordwood.records.legacy_message import CRC_START as MESSAGE_CRC_START
from cordwood.records.record_batch import CRC_START, HEADER_SIZE, MAGIC
from cordwood.storage.reader.segment_listing import SegmentChangedError
from cordwood.workbench.range_checksums import CRC32, CRC32C, RangeChecksums

#: Large enough that the cost of a call is small.
WINDOW_BYTES: Final = 2 << 20
#: The most bytes read at a time in the search for a batch behind damage.
SEARCH_BYTES: Final = 4 << 20
#: The bytes of the first window behind damage; each later one is twice as long.
_FIRST_BYTES: Final = 4 << 10
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
    windows, claims = _Windows(file), None
    position = 0
    while position < file.size:
        data = windows.read(position)
        swept = sweep(data)
        end, fault = position + swept.end, swept.fault
        if swept.end:
            file.on_bytes(swept.end)
            yield SweptRange(position, end, data[: swept.end], swept)
        elif fault is None and len(data) < swept.needed <= file.size - position:
            fault = None if claims is None else claims.fault_at(position)
            if fault is None:
                windows.grow(swept.needed)
                continue
        position = end
        windows.grow()
        if fault is not None or not swept.end:
            claims = claims or _Claims(file, position)
            broken = _broken_at(file, position, fault, claims=claims)
            file.on_bytes(broken.end - position)
            yield broken
            position = broken.end
            windows.restart()


class _Windows:
    """Reads of a file through one reused buffer."""

    __slots__ = ("_buffer", "_file", "_length")

    def __init__(self, file: SegmentLogFile) -> None:
        self._file = file
        self._length = min(WINDOW_BYTES, max(file.size, 1))
        self._buffer = memoryview(bytearray(self._length))

    def read(self, position: int) -> memoryview:
        """Return the next window; it is valid until the next call."""
        file = self._file
        data = self._buffer[: min(self._length, file.size - position)]
        if file.source.read_into(file.name, data, position) < len(data):
            raise _truncated(file)
        return data

    def grow(self, needed: int = 0) -> None:
        """Make the next window longer, up to the usual length, or as long as `needed`."""
        longest = max(len(self._buffer), needed)
        self._length = max(needed, min(2 * self._length, longest))
        if len(self._buffer) < self._length:
            self._buffer = memoryview(bytearray(self._length))

    def restart(self) -> None:
        """Begin with a small window: the sweep may stop at once."""
        self._length = min(_FIRST_BYTES, len(self._buffer))


class _Claims:
    """The checksums of batches that headers claim, from the first damage of a file on."""

    __slots__ = ("_batches", "_file", "_messages")

    def __init__(self, file: SegmentLogFile, origin: int) -> None:
        self._file = file
        self._batches = RangeChecksums(file.read, CRC32C, origin=origin)
        self._messages = RangeChecksums(file.read, CRC32, origin=origin)

    def is_whole(self, header: BatchHeader) -> bool:
        """Return whether a header belongs to a batch with a valid checksum."""
        if header.end > self._file.size or not 0 <= header.base_offset <= header.last_offset:
            return False
        return self._computed(header) == header.crc

    def fault_at(self, position: int) -> BadRecordsError | None:
        """Return the error of a batch that ends inside the file, None if its checksum is valid."""
        try:
            header = read_header(self._file.read(LARGEST_HEADER, position), position=position)
        except CorruptMessageError as error:
            return error
        if header is None or (computed := self._computed(header)) == header.crc:
            return None
        place = BatchLocation(position, header.base_offset)
        return place.corrupt(
            "the checksum is wrong", expected=f"{header.crc:08x}", found=f"{computed:08x}"
        )

    def _computed(self, header: BatchHeader) -> int:
        is_batch = header.magic == MAGIC
        sums = self._batches if is_batch else self._messages
        start = CRC_START if is_batch else MESSAGE_CRC_START
        try:
            return sums.crc(header.position + start, header.end)
        except EOFError as error:
            raise _truncated(self._file) from error


def _truncated(file: SegmentLogFile) -> SegmentChangedError:
    return SegmentChangedError(f"{file.path} was truncated")


def _broken_at(
    file: SegmentLogFile, position: int, fault: BadRecordsError | None, *, claims: _Claims
) -> BrokenRange:
    header = header_at(file, position)
    next_offset = 0 if header is None else header.base_offset
    if header is not None and header.end <= file.size:
        is_end = header.end == file.size
        behind = None if is_end else header_at(file, header.end)
        is_next = behind is not None and behind.base_offset > next_offset
        if is_end or (is_next and behind is not None and claims.is_whole(behind)):
            return BrokenRange(position, header.end, fault, header)
    return BrokenRange(position, _search(file, position + 1, claims), fault, header)


def header_at(file: SegmentLogFile, position: int) -> BatchHeader | None:
    """Return the header at a position, None if the bytes cannot be one."""
    return _header(file.read(LARGEST_HEADER, position), 0, position)


def _search(file: SegmentLogFile, position: int, claims: _Claims) -> int:
    """Return the position of the first whole batch from a position on, or the end of the file."""
    length = min(_FIRST_BYTES, SEARCH_BYTES)
    while file.size - position >= HEADER_SIZE:
        data = file.read(length, position)
        found = data.find(_MAGIC_BYTE, _MAGIC_AT)
        while found >= 0:
            header = _header(data, found - _MAGIC_AT, position + found - _MAGIC_AT)
            if header is not None and header.magic == MAGIC and claims.is_whole(header):
                return header.position
            found = data.find(_MAGIC_BYTE, found + 1)
        position += max(len(data) - LARGEST_HEADER + 1, 1)
        length = min(2 * length, SEARCH_BYTES)
    return file.size


def _header(data: bytes, at: int, position: int) -> BatchHeader | None:
    try:
        return read_header(data, at, position=position)
    except CorruptMessageError:
        return None
