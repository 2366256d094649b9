"""Cache of open files with a limit on file descriptors.

    open      returns a file that stays open until the next call of the cache, which may close it
    pin       returns a file that stays open until `unpin`, for a worker that syncs it
    slice     holds its own descriptor, as its port promises

A caller must not keep an `OpenFile` across two calls of the cache, unless it is pinned. So ten
thousand partitions need only a thousand descriptors. Renames go through the cache: an open file
must not be found under a name that it no longer has. When the process has no free descriptor, the
cache closes idle files and tries again. The cache is not thread-safe: one thread uses it.
"""

from collections import OrderedDict
from collections.abc import Callable

from cordwood.core.ports import Files, OpenFile
from cordwood.storage.files.atomic_write import exists
from cordwood.storage.files.disk_errors import NO_DESCRIPTORS


class _CachedFile:
    """An open file, the number of its pins, and whether the cache still finds it by a path."""

    __slots__ = ("file", "is_findable", "is_writable", "pins")

    def __init__(self, file: OpenFile, *, is_writable: bool) -> None:
        self.file = file
        self.is_writable = is_writable
        self.is_findable = True
        self.pins = 0


class OpenFileCache:
    """Open files by path, the most recently used last; pinned files may exceed `capacity`."""

    def __init__(self, files: Files, capacity: int) -> None:
        assert capacity > 0, "one file has to be open at a time"
        self.files = files
        self.capacity = capacity
        self._files_by_path: OrderedDict[str, _CachedFile] = OrderedDict()
        self._pinned: dict[OpenFile, _CachedFile] = {}

    @property
    def open_count(self) -> int:
        """The number of files that the cache has open."""
        lost = sum(not cached.is_findable for cached in self._pinned.values())
        return len(self._files_by_path) + lost

    def open(self, path: str, *, writable: bool = False) -> OpenFile:
        """Return the file, which stays open until the next call of the cache."""
        return self._get(path, writable=writable).file

    def create(self, path: str) -> OpenFile:
        """Create a file and return it, as `open` does."""
        self.forget(path)
        return self._add(path, lambda: self.files.create(path), is_writable=True).file

    def pin(self, path: str) -> OpenFile:
        """Return the file, open for writing until `unpin`, even if it is renamed or removed."""
        cached = self._get(path, writable=True)
        cached.pins += 1
        self._pinned[cached.file] = cached
        return cached.file

    def unpin(self, file: OpenFile) -> None:
        """Release one pin; every `pin` needs one call."""
        cached = self._pinned[file]
        cached.pins -= 1
        if cached.pins:
            return
        del self._pinned[file]
        if not cached.is_findable:
            file.close()
        self._make_room(0)

    def forget(self, path: str) -> None:
        """Close the file if it is open; a pinned file is closed by its last `unpin`."""
        cached = self._files_by_path.pop(path, None)
        if cached is not None:
            self._drop(cached)

    def forget_under(self, directory: str) -> None:
        """Close every file of a directory that is about to be renamed, removed or not used.

        An error of one file is raised after all are closed.
        """
        above = f"{directory}/"
        self._forget_where(lambda path: path.startswith(above))

    def close_idle(self) -> bool:
        """Close the least recently used half of the idle files; return whether there were any."""
        idle = [path for path, cached in self._files_by_path.items() if not cached.pins]
        for path in idle[: -(-len(idle) // 2)]:
            self.forget(path)
        return bool(idle)

    def close(self) -> None:
        """Close all files."""
        self._forget_where(lambda _: True)

    def record_rename(self, old: str, new: str) -> None:
        """Find the open file of path `old` under `new` from now on."""
        self.forget(new)
        cached = self._files_by_path.pop(old, None)
        if cached is not None:
            self._files_by_path[new] = cached

    def rename(self, old: str, new: str) -> None:
        """Rename a file; it replaces a file with the new name."""
        self.files.rename(old, new)
        self.record_rename(old, new)

    def remove(self, path: str) -> None:
        """Close and remove a file."""
        self.forget(path)
        self.files.remove(path)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory has the path."""
        return exists(self.files, path)

    def _get(self, path: str, *, writable: bool) -> _CachedFile:
        cached = self._files_by_path.get(path)
        if cached is not None and (cached.is_writable or not writable):
            self._files_by_path.move_to_end(path)
            return cached
        self.forget(path)
        return self._add(
            path, lambda: self.files.open(path, writable=writable), is_writable=writable
        )

    def _add(self, path: str, call: Callable[[], OpenFile], *, is_writable: bool) -> _CachedFile:
        file = self._with_descriptor(call)
        self._make_room(1)
        cached = self._files_by_path[path] = _CachedFile(file, is_writable=is_writable)
        return cached

    def _with_descriptor(self, call: Callable[[], OpenFile]) -> OpenFile:
        """Open a file; close idle files as long as no descriptor is free."""
        while True:
            try:
                return call()
            except OSError as error:
                if error.errno not in NO_DESCRIPTORS or not self.close_idle():
                    raise

    def _make_room(self, wanted: int) -> None:
        """Close the least recently used files that are not pinned."""
        while len(self._files_by_path) + wanted > self.capacity:
            idle = next(
                (path for path, cached in self._files_by_path.items() if not cached.pins), None
            )
            if idle is None:
                return
            self.forget(idle)

    def _drop(self, cached: _CachedFile) -> None:
        cached.is_findable = False
        if not cached.pins:
            cached.file.close()

    def _forget_where(self, is_selected: Callable[[str], bool]) -> None:
        errors = []
        for path in [path for path in self._files_by_path if is_selected(path)]:
            try:
                self.forget(path)
            except OSError as error:
                errors.append(error)
        if errors:
            raise errors[0]
