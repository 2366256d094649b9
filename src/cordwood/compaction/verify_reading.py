"""The batches of segments' files, in order, each with its header and its checksum checked.

A file is read in long stretches into one buffer, and whoever can check many batches at a time goes
over those that are in it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import SegmentSource
from cordwood.core.types import Offset
from cordwood.records.header import BatchHeader, ensure_crc, read_header
from cordwood.records.stream import AnyBatch, batch_at
from cordwood.records.sweep import needed_at
from cordwood.storage.names import LOG, segment_name


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


class Reading(NamedTuple):
    """How files are read: from where, how much at a time, and who hears of it.

    `on_bytes` may wait, so that there are not too many a second, and may raise, to end it.
    """

    source: SegmentSource
    io_bytes: int
    on_bytes: Callable[[int], object]


class Batches:
    """The batches of files: each is looked at, then taken, or gone over together with others.

    It is there until the next one is looked at. When it has been, `window` has it `at` a place, and
    others behind it that nobody has checked: bytes of `file` from `start` on. A BadRecordsError is
    of `file`, too.
    """

    __slots__ = ("_files", "_found", "_reading", "_view", "at", "file", "start", "window")

    def __init__(self, reading: Reading, files: Iterable[SegmentFile]) -> None:
        self._reading = reading
        self._files = iter(files)
        self._view = memoryview(bytearray(reading.io_bytes))
        self._found: Found | None = None
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

    def __iter__(self) -> Iterator[Found]:
        while (found := self.take()) is not None:
            yield found

    def _begin(self, file: SegmentFile) -> None:
        self.file = file
        self.window, self.at, self.start = self._view[:0], 0, 0

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
        """Read on from the first batch that is cut off; False at the file's end."""
        at, size = self.at, len(self.window)
        start = self.start + at
        if start == self.file.size:
            return False
        if at == 0 and size == len(self._view):
            self._view = memoryview(bytearray(max(needed_at(self.window, at), 2 * size)))
        into = self._view[: self.file.size - start]
        filled = self._reading.source.read_into(self.file.name, into, start)
        self._reading.on_bytes(filled)
        if filled <= size - at:
            raise CorruptMessageError("the last batch is cut off", position=start)
        self.window, self.at, self.start = into[:filled], 0, start
        return True


_NO_FILE: Final = SegmentFile(0, "", 0, 0, 0)
