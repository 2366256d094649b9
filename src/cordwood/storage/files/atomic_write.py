"""Atomic replacement of small files (Kafka: `Utils.atomicMoveWithFallback`).

A reader gets all of the old bytes or all of the new ones:

1. write <path>.tmp and fsync it    a crash leaves the old file and a .tmp that is ignored
2. rename it to <path>              readers get the new bytes
3. fsync the directory              the new bytes survive a crash
"""

from cordwood.core.binary import Buffer
from cordwood.core.ports import FileKind, Files, OpenFile


def read_whole(files: Files, path: str) -> bytes:
    """Return all bytes of a file."""
    file = files.open(path)
    try:
        return file.pread(file.size, 0)
    finally:
        file.close()


def exists(files: Files, path: str) -> bool:
    """Return whether a file or directory exists at `path`."""
    try:
        files.stat(path)
    except FileNotFoundError:
        return False
    return True


def write_atomically(files: Files, path: str, *, data: Buffer, is_private: bool = False) -> None:
    """Create or replace the file at `path`; on return the new content survives a crash."""
    temporary = f"{path}.tmp"
    write_synced(files, temporary, data=data, is_private=is_private)
    files.rename(temporary, path)
    files.sync_directory(directory_of(path))


def write_synced(files: Files, path: str, *, data: Buffer, is_private: bool = False) -> None:
    """Overwrite a file in place and fsync it; the name of a new file may not survive a crash."""
    file = _open_empty(files, path, is_private=is_private)
    try:
        file.append(data)
        file.sync()
    finally:
        file.close()


def is_file(files: Files, path: str) -> bool:
    """Return whether a file has the path."""
    return exists(files, path) and files.stat(path).kind is FileKind.FILE


def sync_file(files: Files, path: str) -> None:
    """Fsync an existing file."""
    file = files.open(path, writable=True)
    try:
        file.sync()
    finally:
        file.close()


def directory_of(path: str) -> str:
    """Return the path of the directory that holds `path`."""
    return path.rpartition("/")[0] or "/"


def _open_empty(files: Files, path: str, *, is_private: bool) -> OpenFile:
    try:
        return files.create(path, is_private=is_private)
    except FileExistsError:
        file = files.open(path, writable=True)
    try:
        if is_private:
            files.make_private(path)
        file.truncate(0)
    except OSError:
        file.close()
        raise
    return file
