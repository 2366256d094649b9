"""Small files are read whole, and replaced whole: a reader sees the old bytes or the new ones.

1. write <path>.tmp and sync it     a crash leaves the old file, and a .tmp that means nothing
2. rename it to <path>              from here on the new bytes are read
3. sync the directory               from here on they survive a crash
"""

from cordwood.core.binary import Buffer
from cordwood.core.ports import Files, OpenFile


def read_whole(files: Files, path: str) -> bytes:
    """Return all bytes of a file."""
    file = files.open(path)
    try:
        return file.pread(file.size, 0)
    finally:
        file.close()


def exists(files: Files, path: str) -> bool:
    """Whether there is anything at `path`."""
    try:
        files.stat(path)
    except FileNotFoundError:
        return False
    return True


def write_atomically(files: Files, path: str, *, data: Buffer) -> None:
    """Replace the file at `path`, or make it; when this returns, a crash does not undo it."""
    temporary = f"{path}.tmp"
    write_synced(files, temporary, data=data)
    files.rename(temporary, path)
    files.sync_directory(directory_of(path))


def write_synced(files: Files, path: str, *, data: Buffer) -> None:
    """Write a file in place, over what is there; its bytes survive a crash, its name may not."""
    file = _emptied(files, path)
    try:
        file.append(data)
        file.sync()
    finally:
        file.close()


def directory_of(path: str) -> str:
    """Return the path of the directory that holds `path`."""
    return path.rpartition("/")[0] or "/"


def _emptied(files: Files, path: str) -> OpenFile:
    try:
        return files.create(path)
    except FileExistsError:
        file = files.open(path, writable=True)
    try:
        file.truncate(0)
    except OSError:
        file.close()
        raise
    return file
