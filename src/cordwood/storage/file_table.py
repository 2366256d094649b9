"""The open files of a log directory: opened when they are used, closed when others need the place.

    opened    a file that stays open until the caller uses the table again; it may be closed then
    pin       a file that stays open until `unpin`, for a worker that syncs it meanwhile
    slice     keeps its descriptor by itself, as its port says

Nobody keeps an `OpenFile` of the table across two uses of it, pinned ones aside, so ten thousand
partitions live under a limit of some thousand descriptors. What changes a name goes through the
table, for a file that is open must not be found under a name that it no longer has. One thread
uses a table.
"""

from collections import OrderedDict
from collections.abc import Callable

from cordwood.core.ports import Files, Kind, OpenFile
from cordwood.storage.atomic import exists


class _Held:
    """An open file, how many pins it has, and whether the table still finds it by a path."""

    __slots__ = ("file", "is_findable", "is_writable", "pins")

    def __init__(self, file: OpenFile, *, is_writable: bool) -> None:
        self.file = file
        self.is_writable = is_writable
        self.is_findable = True
        self.pins = 0


class FileTable:
    """Open files by path, those used last at the end; at most `capacity` of them but for pins."""

    def __init__(self, files: Files, capacity: int) -> None:
        assert capacity > 0, "one file has to be open at a time"
        self.files = files
        self.capacity = capacity
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._pinned: dict[OpenFile, _Held] = {}

    @property
    def open_count(self) -> int:
        """How many files the table has open."""
        lost = sum(not held.is_findable for held in self._pinned.values())
        return len(self._held) + lost

    def opened(self, path: str, *, writable: bool = False) -> OpenFile:
        """Return the file, open until the next use of the table."""
        return self._hold(path, writable=writable).file

    def create(self, path: str) -> OpenFile:
        """Make a file and return it, as `opened` does."""
        self.forget(path)
        return self._add(path, self.files.create(path), is_writable=True).file

    def pin(self, path: str) -> OpenFile:
        """Return the file, open for writing until `unpin`, whatever happens to its name."""
        held = self._hold(path, writable=True)
        held.pins += 1
        self._pinned[held.file] = held
        return held.file

    def unpin(self, file: OpenFile) -> None:
        """Take one pin back; every `pin` has one."""
        held = self._pinned[file]
        held.pins -= 1
        if held.pins:
            return
        del self._pinned[file]
        if not held.is_findable:
            file.close()
        self._make_room(0)

    def forget(self, path: str) -> None:
        """Close the file if it is open; a pinned one when its last pin is taken back."""
        held = self._held.pop(path, None)
        if held is not None:
            self._let_go(held)

    def forget_under(self, directory: str) -> None:
        """Forget every file of a directory, which is about to get another name or to go."""
        self._forget_where(lambda path: path.startswith(f"{directory}/"))

    def close(self) -> None:
        """Forget everything."""
        self._forget_where(lambda _: True)

    def renamed(self, old: str, new: str) -> None:
        """Find under `new` from now on what was open as `old`."""
        self.forget(new)
        held = self._held.pop(old, None)
        if held is not None:
            self._held[new] = held

    def rename(self, old: str, new: str) -> None:
        """Give a file another name; one that has it is replaced."""
        self.files.rename(old, new)
        self.renamed(old, new)

    def remove(self, path: str) -> None:
        """Close and remove a file."""
        self.forget(path)
        self.files.remove(path)

    def exists(self, path: str) -> bool:
        """Whether there is anything of that name."""
        return exists(self.files, path)

    def is_file(self, path: str) -> bool:
        """Whether there is such a file."""
        return self.exists(path) and self.files.stat(path).kind is Kind.FILE

    def _hold(self, path: str, *, writable: bool) -> _Held:
        held = self._held.get(path)
        if held is not None and (held.is_writable or not writable):
            self._held.move_to_end(path)
            return held
        self.forget(path)
        return self._add(path, self.files.open(path, writable=writable), is_writable=writable)

    def _add(self, path: str, file: OpenFile, *, is_writable: bool) -> _Held:
        self._make_room(1)
        held = self._held[path] = _Held(file, is_writable=is_writable)
        return held

    def _make_room(self, wanted: int) -> None:
        """Close those used longest ago, as far as they are not pinned."""
        while len(self._held) + wanted > self.capacity:
            idle = next((path for path, held in self._held.items() if not held.pins), None)
            if idle is None:
                return
            self.forget(idle)

    def _let_go(self, held: _Held) -> None:
        held.is_findable = False
        if not held.pins:
            held.file.close()

    def _forget_where(self, is_meant: Callable[[str], bool]) -> None:
        for path in [path for path in self._held if is_meant(path)]:
            self.forget(path)
