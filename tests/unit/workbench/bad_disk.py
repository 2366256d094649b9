"""Files in memory on a disk that cannot read some of its bytes."""

import errno
import os

from cordwood.core.ports import Files
from cordwood.testing.memory_files import MemoryFile, MemoryFiles


class BadFile(MemoryFile):
    """A file with unreadable bytes."""

    bad = range(0)

    def pread(self, length: int, position: int) -> bytes:
        if position < self.bad.stop and self.bad.start < position + length:
            raise OSError(errno.EIO, os.strerror(errno.EIO), self.path)
        return super().pread(length, position)


class BadDisk(MemoryFiles):
    """Files in memory, one of which has unreadable bytes."""

    bad_path = ""
    bad = range(0)

    def open(self, path: str, *, writable: bool = False) -> BadFile:
        file = BadFile(self, path, super().open(path).node, writable=writable)
        if path == self.bad_path:
            file.bad = self.bad
        return file


def on_bad_disk(files: Files, path: str, bad: range) -> BadDisk:
    """Return a copy of all directories, with unreadable bytes in one file."""
    disk = BadDisk()
    _copy(files, disk, "")
    disk.bad_path, disk.bad = path, bad
    return disk


def _copy(files: Files, disk: BadDisk, folder: str) -> None:
    for name in files.list(folder or "/"):
        path = f"{folder}/{name}"
        if files.stat(path).is_directory:
            disk.make_directory(path)
            _copy(files, disk, path)
        else:
            file = files.open(path)
            disk.create(path).append(file.pread(file.size, 0))
