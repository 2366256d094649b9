"""What a disk cannot read counts as zeros, a page at a time, and is told.

So a bad sector costs the batch that it is in and nothing else: a checksum says that the batch is
not whole, and what lies before and behind it is read as ever. Every other error is one.
"""

import errno
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.ports import FileStat, SegmentSource
from cordwood.workbench.runs import runs

PAGE_BYTES: Final = 4096

#: Fill a buffer from a position of a file on, and return how many bytes came.
ReadInto: TypeAlias = Callable[[memoryview, int], int]


class Stretch(NamedTuple):
    """Bytes of a file from `position` up to, not including, `end`."""

    path: str
    position: int
    end: int

    @property
    def cause(self) -> str:
        return f"{self.end - self.position:,} bytes that the disk cannot read"


class Unreadable:
    """Reads around what cannot be read, and remembers it."""

    __slots__ = ("_pages",)

    def __init__(self) -> None:
        self._pages: dict[str, set[int]] = {}

    def read_into(
        self, path: str, read: ReadInto, *, buffer: bytearray | memoryview, position: int
    ) -> int:
        """Fill a buffer that does not reach beyond the file; return how many bytes came."""
        view = memoryview(buffer)
        count = _read_or_none(read, view, position)
        if count is not None:
            return count
        done = 0
        while done < len(view):
            at = position + done
            page = view[done : done + PAGE_BYTES - at % PAGE_BYTES]
            count = _read_or_none(read, page, at)
            if count is None:
                page[:] = bytes(len(page))
                count = len(page)
                self._pages.setdefault(path, set()).add(at // PAGE_BYTES)
            done += count
            if count < len(page):
                break
        return done

    def stretches(self) -> Iterator[Stretch]:
        """Yield everything that could not be read."""
        for path, pages in self._pages.items():
            for first, last in runs(sorted(pages)):
                yield Stretch(path, first * PAGE_BYTES, (last + 1) * PAGE_BYTES)


class ReadAround:
    """A source of segments of which some bytes cannot be read."""

    __slots__ = ("_source", "_unreadable")

    def __init__(self, source: SegmentSource, unreadable: Unreadable) -> None:
        self._source = source
        self._unreadable = unreadable

    @property
    def path(self) -> str:
        return self._source.path

    def list(self) -> list[str]:
        return self._source.list()

    def stat(self, name: str) -> FileStat:
        return self._source.stat(name)

    def read(  # tidy: allow[positional] as OpenFile.pread, of a name
        self, name: str, length: int, position: int
    ) -> bytes:
        try:
            return self._source.read(name, length, position)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
        buffer = bytearray(min(length, max(self.stat(name).size - position, 0)))
        return bytes(buffer[: self.read_into(name, buffer, position)])

    def read_into(self, name: str, buffer: bytearray | memoryview, position: int) -> int:
        def read(view: memoryview, at: int) -> int:
            return self._source.read_into(name, view, at)

        path = f"{self.path}/{name}"
        return self._unreadable.read_into(path, read, buffer=buffer, position=position)

    def close(self) -> None:
        self._source.close()


def _read_or_none(read: ReadInto, view: memoryview, position: int) -> int | None:
    """Return how many bytes came, None where the disk says that it cannot."""
    try:
        return read(view, position)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return None
