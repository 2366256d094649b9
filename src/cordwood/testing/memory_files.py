"""File system in memory that loses unsynced data in a crash, and fails by script.

    node        a file (contents) or a directory (names of nodes), each in a visible and a
                durable state
    operation   a change of one node that is not durable yet: write, truncate, name, unname
    sync        makes the operations of one file, or of one directory, durable
    crash       makes operations that the test chose durable, drops the rest, and resets the
                visible state to the durable one; open files and held locks become invalid

A rename within or between directories is one operation: it survives completely or not at all. A
sync of one of two directories that a rename connects syncs both, as in journaling file systems.
"""

import errno
import os
from collections.abc import Collection, Iterable, Mapping

from cordwood.core.binary import Buffer
from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import FileKind, FileStat, Volume
from cordwood.core.types import TimestampMs
from cordwood.testing.disk_model import (
    DirectoryNode,
    DiskNode,
    DiskOperation,
    DurableState,
    FileNode,
    TornWrite,
    copy_of_durable,
    copy_of_present,
)
from cordwood.testing.file_faults import FaultScript, FileFault
from cordwood.testing.pending_operations import PendingOperations
from cordwood.testing.virtual_clock import VirtualClock

NO_LIMIT = 1 << 62
#: Limit of most file systems, in bytes.
NAME_MAX_BYTES = 255

_KINDS = {FileNode: FileKind.FILE, DirectoryNode: FileKind.DIRECTORY}


class MemorySlice:
    """Range of a file's bytes, without a descriptor."""

    descriptor = None

    def __init__(self, file: "MemoryFile", position: int, length: int) -> None:
        self.position = position
        self.length = length
        self._file: MemoryFile | None = file

    def read(self, start: int = 0, length: int | None = None) -> memoryview:
        first = self.position + start
        end = self.position + self.length if length is None else first + length
        return memoryview(self._held().read_slice(first, end))

    def read_cached(self, start: int, length: int) -> memoryview:
        return self.read(start, length)

    def fail(self, error: OSError) -> KafkaStorageError:
        return KafkaStorageError(f"{self._held().path}: {error.strerror}")

    def release(self) -> None:
        self._file = None

    def _held(self) -> "MemoryFile":
        if self._file is None:
            raise ValueError("the slice has been released")
        return self._file


class MemoryFile:
    """Open file; every call goes through the script first."""

    def __init__(self, files: "MemoryFiles", path: str, node: FileNode, *, writable: bool) -> None:
        self.path = path
        self.node = node
        self._files = files
        self._writable = writable
        self._age = files.age
        self._is_closed = False

    @property
    def size(self) -> int:
        self._check_open()
        return len(self.node.now)

    def pread(self, length: int, position: int) -> bytes:
        self._begin("pread")
        self._check_not_negative(length, position)
        return bytes(self.node.now[position : position + length])

    def pread_into(self, buffer: bytearray | memoryview, position: int) -> int:
        view = memoryview(buffer)
        data = self.pread(len(view), position)
        view[: len(data)] = data
        return len(data)

    def append(self, data: Buffer) -> int:
        position = self.size
        self._write("append", data, position)
        return position

    def pwrite(self, data: Buffer, position: int) -> None:
        self._write("pwrite", data, position)

    def preallocate(self, size: int) -> None:
        self._begin("preallocate", changes=True)
        if size > self.size:
            self._resize(size)

    def truncate(self, size: int) -> None:
        if size > self.size:
            raise ValueError(f"{self.path} has {self.size} bytes and cannot be truncated to {size}")
        self._begin("truncate", changes=True)
        self._check_not_negative(size)
        self._resize(size)

    def sync(self) -> None:
        self._begin("sync", changes=True)
        self._files.carry_over_file(self.node)

    def read_slice(self, first: int, end: int) -> bytes:
        """Return bytes for a slice, also after `close`."""
        self._files.script.begin("pread", self.path)
        return bytes(self.node.now[first:end])

    def slice(self, position: int, length: int) -> MemorySlice:
        self._check_open()
        return MemorySlice(self, position, length)

    def map(self) -> memoryview:
        self._begin("map")
        return memoryview(bytes(self.node.now))

    def close(self) -> None:
        self._is_closed = True

    def _begin(self, call: str, *, changes: bool = False) -> FileFault | None:
        self._check_open()
        if changes and call != "sync" and not self._writable:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        return self._files.script.begin(call, self.path, changes=changes)

    def _check_open(self) -> None:
        if self._is_closed or self._age != self._files.age:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)

    def _check_not_negative(self, *numbers: int) -> None:
        if min(numbers) < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), self.path)

    def _write(self, call: str, data: Buffer, position: int) -> None:
        fault = self._begin(call, changes=True)
        self._check_not_negative(position)
        whole = bytes(data)
        kept = whole if fault is None else whole[: fault.kept]
        growth = max(0, position + len(whole) - self.size)
        if not self._files.has_space(growth):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        if kept:
            self._apply(DiskOperation.write(self.node, self.path, position=position, data=kept))
        if fault is not None:
            raise fault.error(self.path)

    def _resize(self, size: int) -> None:
        self._apply(DiskOperation.resize(self.node, self.path, size=size))

    def _apply(self, operation: DiskOperation) -> None:
        self.node.modified_ms = self._files.clock.now_ms()
        self._files.add(operation)


class MemoryFileLock:
    """Entry in the set of locked paths."""

    def __init__(self, locked: set[str], path: str) -> None:
        self._locked = locked
        self._path: str | None = path

    def release(self) -> None:
        if self._path is not None:
            self._locked.discard(self._path)
            self._path = None


class MemoryFiles:
    """The Files port in memory. `script` makes calls fail; `crash` drops unsynced data."""

    def __init__(self, clock: VirtualClock | None = None) -> None:
        self.clock = clock or VirtualClock()
        self.script = FaultScript(self.clock)
        self.capacity_bytes = NO_LIMIT
        self.age = 0
        self._root = DirectoryNode()
        self._pending = PendingOperations()
        self._locked: set[str] = set()

    def create(self, path: str, *, is_private: bool = False) -> MemoryFile:  # noqa: ARG002 - one user
        self.script.begin("create", path, changes=True)
        node = FileNode(self.clock.now_ms())
        self._add_node(path, node)
        return MemoryFile(self, path, node, writable=True)

    def open(self, path: str, *, writable: bool = False) -> MemoryFile:
        self.script.begin("open", path)
        return MemoryFile(self, path, self._file(path), writable=writable)

    def rename(self, source: str, target: str) -> None:
        self.script.begin("rename", target, changes=True)
        old, old_name = self._place(source)
        new, new_name = self._place(target)
        node = self._node(source)
        if f"{target}/".startswith(f"{source}/") and source != target:
            raise _error(errno.EINVAL, target)
        replaced = new.now.get(new_name)
        if isinstance(replaced, DirectoryNode) and replaced.now and replaced is not node:
            raise _error(errno.ENOTEMPTY, target)
        if replaced is not None and isinstance(replaced, DirectoryNode) != isinstance(
            node, DirectoryNode
        ):
            code = errno.EISDIR if isinstance(replaced, DirectoryNode) else errno.ENOTDIR
            raise _error(code, target)
        self.add(
            DiskOperation.rename((old, old_name), (new, new_name), paths=f"{source} -> {target}")
        )

    def remove(self, path: str) -> None:
        self.script.begin("remove", path, changes=True)
        self._file(path)
        self.add(DiskOperation.unname(self._place(path), path))

    def make_directory(self, path: str) -> None:
        self.script.begin("make_directory", path, changes=True)
        self._add_node(path, DirectoryNode())

    def remove_directory(self, path: str) -> None:
        self.script.begin("remove_directory", path, changes=True)
        if self._directory(path).now:
            raise _error(errno.ENOTEMPTY, path)
        self.add(DiskOperation.unname(self._place(path), path))

    def sync_directory(self, path: str) -> None:
        self.script.begin("sync_directory", path, changes=True)
        _carry_over(self._pending.take_of_directory(self._directory(path)))

    def list(self, path: str, kind: FileKind | None = None) -> list[str]:
        self.script.begin("list", path)
        names = self._directory(path).now
        return sorted(name for name in names if kind in (None, _KINDS[type(names[name])]))

    def stat(self, path: str) -> FileStat:
        self.script.begin("stat", path)
        node = self._node(path)
        if isinstance(node, DirectoryNode):
            return FileStat(0, TimestampMs(0), FileKind.DIRECTORY)
        return FileStat(len(node.now), node.modified_ms, FileKind.FILE)

    def volume(self, path: str) -> Volume:
        self.script.begin("volume", path)
        self._node(path)
        return Volume(self.capacity_bytes, max(0, self.capacity_bytes - self.used_bytes()))

    def set_modified(self, path: str, modified_ms: TimestampMs) -> None:
        self.script.begin("set_modified", path, changes=True)
        self._file(path).modified_ms = modified_ms

    def make_private(self, path: str) -> None:
        self.script.begin("make_private", path)
        self._file(path)

    def lock(self, path: str) -> MemoryFileLock:
        self.script.begin("lock", path)
        directory, name = self._place(path)
        if name not in directory.now:
            self._add_node(path, FileNode(self.clock.now_ms()))
        if path in self._locked:
            raise _error(errno.EWOULDBLOCK, path)
        self._locked.add(path)
        return MemoryFileLock(self._locked, path)

    def pending(self) -> tuple[str, ...]:
        """Return a description of each operation that a crash would drop now, oldest first."""
        return tuple(operation.description for operation in self._pending)

    def pending_writes(self) -> dict[int, range]:
        """Return the byte ranges of the writes in `pending()`, by index."""
        writes = ((index, operation.written) for index, operation in enumerate(self._pending))
        return {index: written for index, written in writes if written is not None}

    def crash(
        self, keep: Collection[int] = (), *, torn: Mapping[int, TornWrite] | None = None
    ) -> None:
        """Drop all pending operations except those in `keep`, which are indexes into `pending()`.

        `torn` gives the lost bytes of kept writes.
        """
        self._carry_over_chosen(keep, torn)
        self._end_age()
        self.script.reset()
        self._root.revert()

    def after_crash(
        self, keep: Collection[int] = (), *, torn: Mapping[int, TornWrite] | None = None
    ) -> "MemoryFiles":
        """Return the state after a `crash` as another file system; this one is unchanged.

        As in a crash, files that were unlinked while open and not synced are not in it.
        """
        durable = DurableState(self._root, self._pending)
        self._carry_over_chosen(keep, torn)
        left = MemoryFiles(VirtualClock(self.clock.now_ms()))
        left._root = copy_of_durable(self._root)
        durable.restore()
        return left

    def end_process(self) -> None:
        """Invalidate open files and held locks, as kill -9 does; every write stays, unsynced."""
        self._locked = set()
        self.age += 1

    def saved(self) -> DirectoryNode:
        """Return the present state, synced or not, for a later `restore`; it is never changed."""
        return copy_of_present(self._root)

    def restore(self, saved: DirectoryNode) -> None:
        """Restore a state, all of it durable; open files and held locks become invalid.

        The script of faults continues.
        """
        self._end_age()
        self._root = copy_of_present(saved)

    def used_bytes(self) -> int:
        """Return the size of all files together."""
        return self._root.used_bytes()

    def has_space(self, growth: int) -> bool:
        """Return whether files may grow by this many bytes; files are only added up for a limit."""
        limit = self.capacity_bytes
        return limit == NO_LIMIT or self.used_bytes() + growth <= limit

    def add(self, operation: DiskOperation) -> None:
        """Make a change visible and pending; called by open files of this file system."""
        operation.apply()
        self._pending.add(operation)

    def carry_over_file(self, node: FileNode) -> None:
        """Make the operations of a file durable; called by open files of this file system."""
        _carry_over(self._pending.take_of_file(node))

    def _carry_over_chosen(
        self, keep: Collection[int], torn: Mapping[int, TornWrite] | None
    ) -> None:
        operations = list(self._pending)
        for index in sorted(keep):
            operations[index].carry_over((torn or {}).get(index))

    def _end_age(self) -> None:
        """Invalidate open files and locks, and drop pending operations."""
        self._pending.clear()
        self.end_process()

    def _add_node(self, path: str, node: DiskNode) -> None:
        directory, name = self._place(path)
        if name in directory.now:
            raise _error(errno.EEXIST, path)
        self.add(DiskOperation.name((directory, name), path, node=node))

    def _place(self, path: str) -> tuple[DirectoryNode, str]:
        """Return the parent directory of a path, and the name in it."""
        parent, _, name = path.rpartition("/")
        _ensure_short(name, path)
        return self._directory(parent or "/"), name

    def _node(self, path: str) -> DiskNode:
        node: DiskNode = self._root
        for name in path.strip("/").split("/") if path != "/" else ():
            if not isinstance(node, DirectoryNode):
                raise _error(errno.ENOTDIR, path)
            _ensure_short(name, path)
            if name not in node.now:
                raise _error(errno.ENOENT, path)
            node = node.now[name]
        return node

    def _directory(self, path: str) -> DirectoryNode:
        node = self._node(path)
        if not isinstance(node, DirectoryNode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _file(self, path: str) -> FileNode:
        node = self._node(path)
        if not isinstance(node, FileNode):
            raise _error(errno.EISDIR, path)
        return node


def _carry_over(operations: Iterable[DiskOperation]) -> None:
    for operation in operations:
        operation.carry_over()


def _ensure_short(name: str, path: str) -> None:
    if len(name.encode(errors="surrogateescape")) > NAME_MAX_BYTES:
        raise _error(errno.ENAMETOOLONG, path)


def _error(code: int, path: str) -> OSError:
    """Return the subclass of OSError that Python maps the code to."""
    return OSError(code, os.strerror(code), path)
