"""The batches of one segment's file, in order, each with its header and its checksum checked.

A file is read in long stretches into one buffer: a batch is there until the next one is asked for.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

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


def batches_of(reading: Reading, file: SegmentFile) -> Iterator[Found]:
    """Yield every batch of a file, which has to end with a whole one."""
    view, start = memoryview(bytearray(reading.io_bytes)), 0
    while start < file.size:
        filled = reading.source.read_into(file.name, view[: file.size - start], start)
        reading.on_bytes(filled)
        window, at = view[:filled], 0
        while (found := _whole_at(window, at, start, file)) is not None:
            ensure_crc(found.header, found.data)
            yield found
            at += found.header.size
        if filled == 0 or (at < filled and start + filled == file.size):
            raise CorruptMessageError("the last batch is cut off", position=start + at)
        if at == 0:
            view = memoryview(bytearray(max(needed_at(window, at), 2 * len(view))))
        start += at


def _whole_at(  # tidy: allow[positional] a window, where to look in it, and what it shows
    window: memoryview, at: int, start: int, file: SegmentFile
) -> Found | None:
    """Return the batch that begins at a place of a window; None when it is cut off."""
    header = read_header(window, at, position=start + at)
    if header is None or at + header.size > len(window):
        return None
    return Found(header, window, at=at, file=file)
