"""Reader of the batches of segment files, in order, each with its header and checksum checked.

A file is read in long blocks, into alternating buffers. A caller that checks many batches at a time
can traverse the present block itself.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import cycle
from typing import Final, NamedTuple

from cordwood.compaction.read_ahead import BUFFERS_AHEAD, read_ahead
from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import SegmentSource, Worker
from cordwood.core.types import Offset
from cordwood.records.batch_checks import needed_at
from cordwood.records.batch_header import BatchHeader, ensure_crc, read_header
from cordwood.records.batch_stream import AnyBatch, batch_at
from cordwood.storage.files.file_names import LOG, segment_name

#: The largest rest of a block that is carried over in front of the next one.
_CARRIED: Final = 64 << 10


class SegmentFile(NamedTuple):
    """One segment; `group` is the number of its segment group, before or after the pass."""

    base_offset: int
    suffix: str
    size: int
    modified_ms: int
    group: int

    @property
    def name(self) -> str:
        """Return the log file's name."""
        return self.sibling(LOG)

    def sibling(self, extension: str) -> str:
        """Return the name of another file of the segment."""
        return segment_name(Offset(self.base_offset), extension, suffix=self.suffix)


class LocatedBatch:
    """A batch and its file; the header's position is in the file.

    The rarely used view is made on demand. The batch is at `at` in `window`.
    """

    __slots__ = ("at", "file", "header", "window")

    def __init__(
        self, header: BatchHeader, window: memoryview, *, at: int, file: SegmentFile
    ) -> None:
        self.header = header
        self.window = window
        self.at = at
        self.file = file

    @property
    def data(self) -> memoryview:
        """Return all bytes of the batch."""
        return self.window[self.at : self.at + self.header.size]

    @property
    def batch(self) -> AnyBatch:
        """Return a view of the batch."""
        batch = batch_at(self.window, self.at)
        assert batch is not None, "a located batch is whole"
        return batch


class ReadAheadThread(NamedTuple):
    """A read-ahead: one thread, and the source that it alone reads."""

    worker: Worker
    source: SegmentSource


class ReadOptions(NamedTuple):
    """The source of files, the block size, and the callback for bytes read.

    `on_bytes` may wait to limit the rate, and may raise to stop.
    """

    source: SegmentSource
    io_bytes: int
    on_bytes: Callable[[int], object]
    ahead: ReadAheadThread | None = None


class _Block(NamedTuple):
    """A block of N bytes in a buffer, after the bytes carried over from the last one."""

    room: memoryview
    size: int


class BatchCursor:
    """A cursor over the batches of files: each is peeked, then taken, or traversed with others.

    A batch is valid until the next one is peeked. After a peek `window` holds it at `at`, and
    unchecked batches after it: bytes of `file` from `start` on. A BadRecordsError belongs to
    `file`, too. `close` ends the reading.
    """

    __slots__ = (
        "_blocks", "_files", "_found", "_reading", "_rooms", "at", "file", "start", "window",
    )  # fmt: skip

    def __init__(self, reading: ReadOptions, files: Iterable[SegmentFile]) -> None:
        self._reading = reading
        self._files = iter(files)
        block = max(1, reading.io_bytes // BUFFERS_AHEAD)
        self._rooms = [memoryview(bytearray(_CARRIED + block)) for _ in range(BUFFERS_AHEAD)]
        self._found: LocatedBatch | None = None
        self._blocks: Generator[_Block, None, None] = read_ahead((), None)
        self._begin(_NO_FILE)

    def peek(self) -> LocatedBatch | None:
        """Return the next batch, its checksum checked; None at the end."""
        while self._found is None:
            self._found = self._whole()
            if self._found is None and not self._read():
                file = next(self._files, None)
                if file is None:
                    return None
                self._begin(file)
        return self._found

    def take(self) -> LocatedBatch | None:
        """Return the next batch, and advance."""
        found = self.peek()
        if found is not None:
            self.go_over(found.header.size)
        return found

    def go_over(self, size: int) -> None:
        """Advance by `size` bytes, over whole batches of the window."""
        self.at += size
        self._found = None

    def close(self) -> None:
        """Stop reading."""
        self._blocks.close()

    def __iter__(self) -> Iterator[LocatedBatch]:
        while (found := self.take()) is not None:
            yield found

    def _begin(self, file: SegmentFile) -> None:
        self.close()
        self.file = file
        self.window, self.at, self.start = _NOTHING, 0, 0
        positions = range(0, file.size, len(self._rooms[0]) - _CARRIED)
        reads = (
            partial(self._block, file, position, room)
            for position, room in zip(positions, cycle(self._rooms), strict=False)
        )
        way = self._reading.ahead
        self._blocks = read_ahead(reads, None if way is None else way.worker)

    def _block(self, file: SegmentFile, position: int, room: memoryview) -> _Block:
        """Read a block from a position on, as large as the buffer."""
        into = room[_CARRIED:][: file.size - position]
        source = self._reading.source if self._reading.ahead is None else self._reading.ahead.source
        return _Block(room, source.read_into(file.name, into, position))

    def _whole(self) -> LocatedBatch | None:
        """Return the next batch of the window; None when it is incomplete there."""
        at = self.at
        header = read_header(self.window, at, position=self.start + at)
        if header is None or at + header.size > len(self.window):
            return None
        found = LocatedBatch(header, self.window, at=at, file=self.file)
        ensure_crc(header, found.data)
        return found

    def _read(self) -> bool:
        """Read the next block after the rest of the last one; return False at the end."""
        rest = bytes(self.window[self.at :])
        self.window, self.at, self.start = _NOTHING, 0, self.start + self.at
        if not rest and self.start == self.file.size:
            return False
        room, size = self._next_block()
        first = _CARRIED - len(rest)
        if first >= 0:
            room[first:_CARRIED] = rest
            self.window = room[first : _CARRIED + size]
            return True
        joined = bytearray(rest) + room[_CARRIED : _CARRIED + size]
        while len(joined) < needed_at(memoryview(joined), 0):
            room, size = self._next_block()
            joined += room[_CARRIED : _CARRIED + size]
        self.window = memoryview(joined)
        return True

    def _next_block(self) -> _Block:
        block = next(self._blocks, None)
        if block is None or not block.size:
            raise CorruptMessageError("the last batch is cut off", position=self.start)
        self._reading.on_bytes(block.size)
        return block


_NOTHING: Final = memoryview(b"")
_NO_FILE: Final = SegmentFile(0, "", 0, 0, 0)
