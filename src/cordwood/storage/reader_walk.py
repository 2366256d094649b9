"""The batches of one segment, one after the other, while its owner may be changing the file.

A walk begins at a batch that has been looked up. Each time it has read on, it reads the header of
its last batch once more: as long as that is where it was, what follows it does follow it. If not,
the file has been cut and written anew, or another has its name, and the walk ends with
SegmentChangedError: whoever walks looks up the next offset again. So no position is ever carried
over into bytes that it was not found in.

What cannot be a batch, or has offsets that go back, is CorruptMessageError, with file and position.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch import MAGIC, TRANSACTIONAL_BIT
from cordwood.records.header import LARGEST_HEADER, BatchHeader, read_header
from cordwood.records.message import LOG_OVERHEAD
from cordwood.records.place import Place
from cordwood.storage.reader_listing import SegmentChangedError
from cordwood.storage.reader_segments import ReaderSegment, is_header, located
from cordwood.storage.scan import WINDOW_SIZE as HEADER_WINDOW

_PREFIX: Final = Struct(">qi4xb4xhi")
_SMALLEST_LENGTH: Final = LARGEST_HEADER - LOG_OVERHEAD


class FoundBatch(NamedTuple):
    """A batch and the segment that it is in; `header.position` is the place in the file."""

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
        """Return its bytes, unchecked; SegmentChangedError if it is not there any more."""
        return self.segment.data_of(self.header)


class BatchRun(NamedTuple):
    """Whole batches, one after the other, as bytes, and where they were found."""

    data: memoryview
    path: str
    segment_base: int
    position: int
    first_offset: int
    next_offset: int
    has_transactions: bool


class _Part(NamedTuple):
    """As much of a window as is whole batches that are wanted; `is_end`: what follows is not."""

    size: int
    last_at: int
    next_offset: int
    has_transactions: bool
    is_end: bool = False


class _Anchor(NamedTuple):
    """The first bytes of the batch that was passed last, and where they were."""

    position: int
    header: bytes


class SegmentWalk:
    """From a batch of a segment, which is wanted, to its end, or to what an end leaves out."""

    __slots__ = ("_anchor", "_name", "first", "segment")

    def __init__(self, segment: ReaderSegment, first: BatchHeader) -> None:
        self.segment = segment
        self.first = first
        self._name = segment.log_name
        self._anchor = _Anchor(first.position, b"")

    def batches(self, end_offset: int) -> Iterator[FoundBatch]:
        """Yield the batches below an offset, of which only headers are read."""
        segment, end_offset = self.segment, max(end_offset, self.first.next_offset)
        self._cast_anchor()
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
                raise located(error, segment.log_path) from error
            if header is None or header.end > size:
                raise segment.cut_off(position, next_offset)
            if is_over:
                return
            yield FoundBatch(header, segment)
            self._anchor = _Anchor(position, window[at : at + LARGEST_HEADER])
            next_offset, position = header.next_offset, header.end

    def runs(
        self, end_offset: int, most: int, *, window: bytearray | None = None
    ) -> Iterator[BatchRun]:
        """Yield the batches below an offset as runs of whole ones, as large as `most` allows.

        All runs come in the one window, or in a larger one; without a window each run has bytes of
        its own, to be kept. A batch that is larger than `most` is a run.
        """
        segment, position, wanted = self.segment, self.first.position, most
        next_offset, end_offset = self.first.base_offset, max(end_offset, self.first.next_offset)
        self._cast_anchor()
        while position < segment.view.size:
            data = self._fill(min(wanted, segment.view.size - position), position, window)
            part = self._part(data, position, next_offset=next_offset, end_offset=end_offset)
            if part.size:
                header = bytes(data[part.last_at : part.last_at + LARGEST_HEADER])
                self._anchor = _Anchor(position + part.last_at, header)
                yield BatchRun(
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
                position, next_offset, wanted = position + part.size, part.next_offset, most
                continue
            wanted = self._size_of_next(data, position, next_offset)
            if window is not None and wanted > len(window):
                window = bytearray(wanted)

    def _fill(self, length: int, position: int, window: bytearray | None) -> memoryview:
        """Read on, and see that it is the same file still."""
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

    def _cast_anchor(self) -> None:
        """See that the first batch is where it was found."""
        position = self.first.position
        data = self.segment.source.read(self._name, LARGEST_HEADER, position)
        if not is_header(self.first, data):
            raise self._changed()
        self._anchor = _Anchor(position, data)

    def _ensure_same(self, came: int, wanted: int) -> None:
        """Refuse to go on where less came than there was, or the last batch is another one."""
        position, header = self._anchor
        data = self.segment.source.read(self._name, len(header), position)
        if came < wanted or data != header:
            raise self._changed()

    def _changed(self) -> SegmentChangedError:
        return SegmentChangedError(f"{self.segment.log_path} has been cut or written anew")

    def _part(self, data: memoryview, position: int, *, next_offset: int, end_offset: int) -> _Part:
        """Go through a window, up to where a batch is cut off, not wanted, or damaged.

        Damage is raised once it is at the beginning of a window.
        """
        part = _Part(0, 0, next_offset, has_transactions=False)
        try:
            while True:
                part = _passed(data, part, end_offset)
                header = read_header(data, part.size, position=position + part.size)
                if header is None or part.size + header.size > len(data):
                    return part
                if is_beyond(header, end_offset, after=part.next_offset):
                    return part._replace(is_end=True)
                _ensure_follows(header, part.next_offset)
                part = _Part(
                    part.size + header.size,
                    part.size,
                    header.next_offset,
                    part.has_transactions or header.is_transactional,
                )
        except CorruptMessageError as error:
            if not part.size:
                raise located(error, self.segment.log_path) from error
        return part

    def _size_of_next(self, data: memoryview, position: int, next_offset: int) -> int:
        """Return the size of a batch that is larger than the window."""
        header = read_header(data, position=position)
        if header is None or header.end > self.segment.view.size:
            raise self.segment.cut_off(position, next_offset)
        return header.size


def _passed(data: memoryview, part: _Part, end_offset: int) -> _Part:
    """Pass the sound v2 batches that come next, with as little work as that takes."""
    at, last_at, next_offset, has_transactions, _ = part
    room = len(data)
    while room - at >= LARGEST_HEADER:
        base_offset, length, magic, attributes, delta = _PREFIX.unpack_from(data, at)
        end = at + LOG_OVERHEAD + length
        if magic != MAGIC or length < _SMALLEST_LENGTH or end > room or delta < 0:
            break
        if not next_offset <= base_offset < end_offset:
            break
        has_transactions = has_transactions or bool(attributes & TRANSACTIONAL_BIT)
        last_at, at, next_offset = at, end, base_offset + delta + 1
    return _Part(at, last_at, next_offset, has_transactions)


def is_beyond(header: BatchHeader, end_offset: int, *, after: int) -> bool:
    """Whether a batch has nothing below an offset; `after` is the first that it can have.

    A wrapper's one offset is its last: what lies inside may begin before it.
    """
    is_wrapper = header.magic != MAGIC and header.codec_id != 0
    return (after if is_wrapper else header.base_offset) >= end_offset


def _ensure_follows(header: BatchHeader, next_offset: int) -> None:
    """Refuse a batch that begins below where the one before it has ended."""
    if not next_offset <= header.base_offset <= header.last_offset:
        raise Place(header.position, header.base_offset).corrupt(
            "offsets that go back",
            expected=f"at least {max(next_offset, header.base_offset)}",
            found=min(header.base_offset, header.last_offset),
        )
