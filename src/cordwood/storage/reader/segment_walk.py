"""Sequential read of one segment's batches while its owner may be changing the file.

A walk starts at a batch that was looked up. After each read it reads the header of its last batch
again. If the header is unchanged, the bytes after it are its successors. Otherwise the file was
truncated and written again, or another file has its name: the walk raises SegmentChangedError, and
the caller looks up the next offset again. So a position is never used in bytes of another file.

Invalid batches and decreasing offsets raise CorruptMessageError with file and position.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_header import LARGEST_HEADER, BatchHeader, read_header
from cordwood.records.batch_location import BatchLocation
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import CONTROL_BIT, MAGIC, TRANSACTIONAL_BIT
from cordwood.storage.files.header_scan import WINDOW_SIZE as HEADER_WINDOW
from cordwood.storage.reader.reader_segment import ReaderSegment, has_header, with_location
from cordwood.storage.reader.segment_listing import SegmentChangedError

_PREFIX: Final = Struct(">qi4xb4xhi")
_SMALLEST_LENGTH: Final = LARGEST_HEADER - LOG_OVERHEAD
_TRANSACTION_BITS: Final = TRANSACTIONAL_BIT | CONTROL_BIT


class FoundBatch(NamedTuple):
    """A batch and its segment; `header.position` is the position in the file."""

    header: BatchHeader
    segment: ReaderSegment

    @property
    def next_offset(self) -> int:
        return self.header.next_offset

    @property
    def segment_base(self) -> int:
        return self.segment.base_offset

    @property
    def path(self) -> str:
        return self.segment.log_path

    def data(self) -> bytes:
        """Return its bytes without a check of the checksum; SegmentChangedError after a change."""
        return self.segment.data_of(self.header)


class SegmentBatchRun(NamedTuple):
    """The bytes of consecutive whole batches, and their place.

    `has_transactions`: one of them is transactional or a control batch.
    """

    data: memoryview
    path: str
    segment_base: int
    position: int
    first_offset: int
    next_offset: int
    has_transactions: bool


class _WindowPart(NamedTuple):
    """The requested whole batches at the start of a window; `is_end`: the next one is beyond."""

    size: int
    last_at: int
    next_offset: int
    has_transactions: bool
    is_end: bool = False


class _LastHeader(NamedTuple):
    """The first bytes of the last batch of the walk, and their position."""

    position: int
    header: bytes


class SegmentWalk:
    """A walk from a batch of a segment to the segment's end or to a given offset."""

    __slots__ = ("_last", "_name", "first", "segment")

    def __init__(self, segment: ReaderSegment, first: BatchHeader) -> None:
        self.segment = segment
        self.first = first
        self._name = segment.log_name
        self._last = _LastHeader(first.position, b"")

    def batches(self, end_offset: int) -> Iterator[FoundBatch]:
        """Yield the batches below an offset; only headers are read."""
        segment, end_offset = self.segment, max(end_offset, self.first.next_offset)
        self._check_first()
        size, next_offset, position = segment.view.size, self.first.base_offset, self.first.position
        window, start = b"", position
        while position < size:
            at = position - start
            if len(window) - at < min(LARGEST_HEADER, size - position):
                window, start, at = self._read(position, size), position, 0
            try:
                header = read_header(window, at, position=position)
                is_over = header is not None and is_beyond(header, end_offset, after=next_offset)
                if header is not None and not is_over:
                    _ensure_follows(header, next_offset)
            except CorruptMessageError as error:
                raise with_location(error, segment.log_path) from error
            if header is None or header.end > size:
                raise segment.truncated_error(position, next_offset)
            if is_over:
                return
            yield FoundBatch(header, segment)
            self._last = _LastHeader(position, window[at : at + LARGEST_HEADER])
            next_offset, position = header.next_offset, header.end

    def runs(
        self, end_offset: int, max_bytes: int, *, window: bytearray | None = None
    ) -> Iterator[SegmentBatchRun]:
        """Yield the batches below an offset as runs of whole batches of at most `max_bytes`.

        All runs share one window, which grows if needed; without a window each run has its own
        bytes. A batch that is larger than `max_bytes` is a run of its own.
        """
        segment, position, wanted = self.segment, self.first.position, max_bytes
        next_offset, end_offset = self.first.base_offset, max(end_offset, self.first.next_offset)
        self._check_first()
        while position < segment.view.size:
            data = self._fill(min(wanted, segment.view.size - position), position, window)
            part = self._part(data, position, next_offset=next_offset, end_offset=end_offset)
            if part.size:
                header = bytes(data[part.last_at : part.last_at + LARGEST_HEADER])
                self._last = _LastHeader(position + part.last_at, header)
                yield SegmentBatchRun(
                    data[: part.size],
                    segment.log_path,
                    segment.base_offset,
                    position,
                    next_offset,
                    part.next_offset,
                    part.has_transactions,
                )
            if part.is_end:
                return
            if part.size:
                position, next_offset, wanted = position + part.size, part.next_offset, max_bytes
                continue
            wanted = self._size_of_next(data, position, next_offset)
            if window is not None and wanted > len(window):
                window = bytearray(wanted)

    def _fill(self, length: int, position: int, window: bytearray | None) -> memoryview:
        """Read the next bytes, and check that the file is still the same."""
        source = self.segment.source
        if window is None:
            data = memoryview(source.read(self._name, length, position))
        else:
            view = memoryview(window)[:length]
            data = view[: source.read_into(self._name, view, position)]
        self._ensure_same(len(data), length)
        return data

    def _read(self, position: int, size: int) -> bytes:
        length = min(HEADER_WINDOW, size - position)
        data = self.segment.source.read(self._name, length, position)
        self._ensure_same(len(data), length)
        return data

    def _check_first(self) -> None:
        """Check that the first batch is still at its position."""
        position = self.first.position
        data = self.segment.source.read(self._name, LARGEST_HEADER, position)
        if not has_header(self.first, data):
            raise self._changed()
        self._last = _LastHeader(position, data)

    def _ensure_same(self, received: int, wanted: int) -> None:
        """Raise SegmentChangedError after a short read or a change of the last batch."""
        position, header = self._last
        data = self.segment.source.read(self._name, len(header), position)
        if received < wanted or data != header:
            raise self._changed()

    def _changed(self) -> SegmentChangedError:
        return SegmentChangedError(f"{self.segment.log_path} has been truncated or written again")

    def _part(
        self, data: memoryview, position: int, *, next_offset: int, end_offset: int
    ) -> _WindowPart:
        """Return the batches of a window before an incomplete, damaged or later one.

        Damage at the beginning of a window raises CorruptMessageError.
        """
        part = _WindowPart(0, 0, next_offset, has_transactions=False)
        try:
            while True:
                part = _skip_v2(data, part, end_offset)
                header = read_header(data, part.size, position=position + part.size)
                if header is None or part.size + header.size > len(data):
                    return part
                if is_beyond(header, end_offset, after=part.next_offset):
                    return part._replace(is_end=True)
                _ensure_follows(header, part.next_offset)
                part = _WindowPart(
                    part.size + header.size,
                    part.size,
                    header.next_offset,
                    part.has_transactions or header.is_transactional or header.is_control,
                )
        except CorruptMessageError as error:
            if not part.size:
                raise with_location(error, self.segment.log_path) from error
        return part

    def _size_of_next(self, data: memoryview, position: int, next_offset: int) -> int:
        """Return the size of a batch that is larger than the window."""
        header = read_header(data, position=position)
        if header is None or header.end > self.segment.view.size:
            raise self.segment.truncated_error(position, next_offset)
        return header.size


def _skip_v2(data: memoryview, part: _WindowPart, end_offset: int) -> _WindowPart:
    """Extend the part by valid v2 batches; only a few header fields are decoded."""
    at, last_at, next_offset, has_transactions, _ = part
    room = len(data)
    while room - at >= LARGEST_HEADER:
        base_offset, length, magic, attributes, delta = _PREFIX.unpack_from(data, at)
        end = at + LOG_OVERHEAD + length
        if magic != MAGIC or length < _SMALLEST_LENGTH or end > room or delta < 0:
            break
        if not next_offset <= base_offset < end_offset:
            break
        has_transactions = has_transactions or bool(attributes & _TRANSACTION_BITS)
        last_at, at, next_offset = at, end, base_offset + delta + 1
    return _WindowPart(at, last_at, next_offset, has_transactions)


def is_beyond(header: BatchHeader, end_offset: int, *, after: int) -> bool:
    """Return whether a batch has no offset below `end_offset`; none of them is below `after`."""
    # A wrapper has only its last offset: the messages inside may begin at `after`.
    is_wrapper = header.magic != MAGIC and header.codec_id != 0
    return (after if is_wrapper else header.base_offset) >= end_offset


def _ensure_follows(header: BatchHeader, next_offset: int) -> None:
    """Raise CorruptMessageError if a batch begins below the end of the one before it."""
    if not next_offset <= header.base_offset <= header.last_offset:
        raise BatchLocation(header.position, header.base_offset).corrupt(
            "the offsets decrease",
            expected=f"at least {max(next_offset, header.base_offset)}",
            found=min(header.base_offset, header.last_offset),
        )
