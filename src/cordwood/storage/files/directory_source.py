"""Directory as a source of segments, with a small cache of open files.

    stat   closes the file, so that the next read opens the file that has the name then
    read   keeps the file open for the next read; the least recently read file is closed for it

After `stat`, all reads of a name come from one file, even if the owner renames or replaces it.
Files are opened read-only.
"""

from collections import OrderedDict
from typing import Final

from cordwood.core.ports import FileKind, Files, FileStat, OpenFile

#: Two logs with their three indexes each.
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
        """The number of open files."""
        return len(self._opened)

    def list(self) -> list[str]:
        return self._files.list(self.path, FileKind.FILE)

    def changed_ms(self) -> int | None:
        return self._files.stat(self.path).modified_ms or None

    def stat(self, name: str) -> FileStat:
        self._close(name)
        return self._files.stat(f"{self.path}/{name}")

    def read(  # tidy: allow[positional] as OpenFile.pread, of a name
        self, name: str, length: int, position: int
    ) -> bytes:
        return self._file(name).pread(length, position)

    def read_into(self, name: str, buffer: bytearray | memoryview, position: int) -> int:
        return self._file(name).pread_into(buffer, position)

    def close(self) -> None:
        for name in list(self._opened):
            self._close(name)

    def _file(self, name: str) -> OpenFile:
        file = self._opened.get(name)
        if file is None:
            file = self._files.open(f"{self.path}/{name}")
            self._opened[name] = file
            if len(self._opened) > self._capacity:
                self._close(next(iter(self._opened)))
        else:
            self._opened.move_to_end(name)
        return file

    def _close(self, name: str) -> None:
        file = self._opened.pop(name, None)
        if file is not None:
            file.close()
