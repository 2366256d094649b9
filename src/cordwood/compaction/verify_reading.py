"""The batches of segments' files, in order, each with its header and its checksum checked.

A file is read in long blocks, into buffers that take turns, and whoever can check many batches at a
time goes over those that are there.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import cycle
from typing import Final, NamedTuple

from cordwood.compaction.ahead import BUFFERS_AHEAD, ahead
from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import SegmentSource, Worker
from cordwood.core.types import Offset
from cordwood.records.header import BatchHeader, ensure_crc, read_header
from cordwood.records.stream import AnyBatch, batch_at
from cordwood.records.sweep import needed_at
from cordwood.storage.names import LOG, segment_name

#: What a block may have cut off without its being moved behind that.
_CARRIED: Final = 64 << 10


class SegmentFile(NamedTuple):
    """One segment; `group` counts the segments that take its place, or it theirs."""

    base_offset: int
    suffix: str
    size: int
    modified_ms: int
    group: int

    @property
    def name(self) -> str:
        """The log file's."""
        return self.sibling(LOG)

    def sibling(self, extension: str) -> str:
        """Return the name of one of its files."""
        return segment_name(Offset(self.base_offset), extension, suffix=self.suffix)


class Found:
    """A batch, and the file that it lies in; the header's position is in the file.

    What is looked at less often is made when it is asked for. It lies at `at` of `window`.
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
        """All bytes of it."""
        return self.window[self.at : self.at + self.header.size]

    @property
    def batch(self) -> AnyBatch:
        """A view of it."""
        batch = batch_at(self.window, self.at)
        assert batch is not None, "what was found is whole"
        return batch


class Ahead(NamedTuple):
    """Who reads ahead: one thread, and the source that it reads, it alone."""

    worker: Worker
    source: SegmentSource


class Reading(NamedTuple):
    """How files are read: from where, how much at a time, and who hears of it.

    `on_bytes` may wait, so that there are not too many a second, and may raise, to end it.
    """

    source: SegmentSource
    io_bytes: int
    on_bytes: Callable[[int], object]
    ahead: Ahead | None = None


class _Block(NamedTuple):
    """What was read: so many bytes of a room, behind those that are left for what is carried."""

    room: memoryview
    size: int


class Batches:
    """The batches of files: each is looked at, then taken, or gone over together with others.

    It is there until the next one is looked at. When it has been, `window` has it `at` a place, and
    others behind it that nobody has checked: bytes of `file` from `start` on. A BadRecordsError is
    of `file`, too. Close it: nothing is read any more then.
    """

    __slots__ = (
        "_blocks", "_files", "_found", "_reading", "_rooms", "at", "file", "start", "window",
    )  # fmt: skip

    def __init__(self, reading: Reading, files: Iterable[SegmentFile]) -> None:
        self._reading = reading
        self._files = iter(files)
        block = max(1, reading.io_bytes // BUFFERS_AHEAD)
        self._rooms = [memoryview(bytearray(_CARRIED + block)) for _ in range(BUFFERS_AHEAD)]
        self._found: Found | None = None
        self._blocks: Generator[_Block, None, None] = ahead((), None)
        self._begin(_NO_FILE)

    def peek(self) -> Found | None:
        """Return the next batch, its checksum checked; None if there is no more."""
        while self._found is None:
            self._found = self._whole()
            if self._found is None and not self._read():
                file = next(self._files, None)
                if file is None:
                    return None
                self._begin(file)
        return self._found

    def take(self) -> Found | None:
        """Return the next batch, and go on behind it."""
        found = self.peek()
        if found is not None:
            self.go_over(found.header.size)
        return found

    def go_over(self, size: int) -> None:
        """Go on so many bytes behind, over whole batches of the window."""
        self.at += size
        self._found = None

    def close(self) -> None:
        """Read no more."""
        self._blocks.close()

    def __iter__(self) -> Iterator[Found]:
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
        self._blocks = ahead(reads, None if way is None else way.worker)

    def _block(self, file: SegmentFile, position: int, room: memoryview) -> _Block:
        """Read from a position on as much as there is room for."""
        into = room[_CARRIED:][: file.size - position]
        source = self._reading.source if self._reading.ahead is None else self._reading.ahead.source
        return _Block(room, source.read_into(file.name, into, position))

    def _whole(self) -> Found | None:
        """Return the batch that comes next in the window; None when it is cut off there."""
        at = self.at
        header = read_header(self.window, at, position=self.start + at)
        if header is None or at + header.size > len(self.window):
            return None
        found = Found(header, self.window, at=at, file=self.file)
        ensure_crc(header, found.data)
        return found

    def _read(self) -> bool:
        """Go on with the next block, in front of it what the last one has cut off; or say no."""
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
