"""A directory as a source of segments: its files are opened when they are read, few at a time.

    stat   lets go of the file, so that the next read opens what has the name then
    read   keeps the file open, for the next one; those read longest ago are closed for others

So whoever looks at a file before reading it reads one and the same file from then on, whatever its
owner does to the name. Nothing is ever opened for writing.
"""

from collections import OrderedDict
from typing import Final

from cordwood.core.ports import Files, FileStat, Kind, OpenFile

#: A log and its three indexes, twice over.
CAPACITY: Final = 8


class DirectorySource:
    """The files of one directory, through the Files port."""

    __slots__ = ("_capacity", "_files", "_opened", "path")

    def __init__(self, files: Files, directory: str, *, capacity: int = CAPACITY) -> None:
        assert capacity > 0, "one file has to be open at a time"
        self.path = directory
        self._files = files
        self._capacity = capacity
        self._opened: OrderedDict[str, OpenFile] = OrderedDict()

    @property
    def open_count(self) -> int:
        """How many files are open."""
        return len(self._opened)

    def list(self) -> list[str]:
        return self._files.list(self.path, Kind.FILE)

    def stat(self, name: str) -> FileStat:
        self._let_go(name)
        return self._files.stat(f"{self.path}/{name}")

    def read(  # tidy: allow[positional] as OpenFile.pread, of a name
        self, name: str, length: int, position: int
    ) -> bytes:
        return self._file(name).pread(length, position)

    def read_into(self, name: str, buffer: bytearray | memoryview, position: int) -> int:
        return self._file(name).pread_into(buffer, position)

    def close(self) -> None:
        for name in list(self._opened):
            self._let_go(name)

    def _file(self, name: str) -> OpenFile:
        file = self._opened.get(name)
        if file is None:
            file = self._files.open(f"{self.path}/{name}")
            self._opened[name] = file
            if len(self._opened) > self._capacity:
                self._let_go(next(iter(self._opened)))
        else:
            self._opened.move_to_end(name)
        return file

    def _let_go(self, name: str) -> None:
        file = self._opened.pop(name, None)
        if file is not None:
            file.close()
