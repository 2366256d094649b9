"""Ranges that the disk cannot read (EIO): read as zeros, page by page, and reported.

So a bad sector costs only the batch that it is in: the checksum of that batch is wrong, and the
data before and behind it is read normally. Other errors propagate.
"""

import errno
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.ports import FileStat, SegmentSource
from cordwood.workbench.number_ranges import consecutive_ranges

PAGE_BYTES: Final = 4096

#: Fills a buffer from a position of a file, and returns the number of bytes read.
ReadInto: TypeAlias = Callable[[memoryview, int], int]


class UnreadableRange(NamedTuple):
    """An unreadable range of a file, from `position` up to but not including `end`."""

    path: str
    position: int
    end: int

    @property
    def cause(self) -> str:
        return f"{self.end - self.position:,} bytes that the disk cannot read"


class UnreadablePages:
    """Reader that replaces unreadable pages by zeros, and records them."""

    __slots__ = ("_pages",)

    def __init__(self) -> None:
        self._pages: dict[str, set[int]] = {}

    def read_into(
        self, path: str, read: ReadInto, *, buffer: bytearray | memoryview, position: int
    ) -> int:
        """Fill a buffer that ends within the file; return the number of bytes read."""
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

    def ranges(self) -> Iterator[UnreadableRange]:
        """Yield the ranges that could not be read."""
        for path, pages in self._pages.items():
            for first, last in consecutive_ranges(sorted(pages)):
                yield UnreadableRange(path, first * PAGE_BYTES, (last + 1) * PAGE_BYTES)


class ZeroFillingSource:
    """A `SegmentSource` whose unreadable pages read as zeros."""

    __slots__ = ("_source", "_unreadable")

    def __init__(self, source: SegmentSource, unreadable: UnreadablePages) -> None:
        self._source = source
        self._unreadable = unreadable

    @property
    def path(self) -> str:
        return self._source.path

    def list(self) -> list[str]:
        return self._source.list()

    def changed_ms(self) -> int | None:
        return self._source.changed_ms()

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
    """Return the number of bytes read, None if the disk reports an I/O error."""
    try:
        return read(view, position)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return None
