"""One index file on disk, read and written without a mapping.

    growing   the file is preallocated: zeros follow the entries. A copy of the entries is in
              memory, so lookups do not read the file
    trimmed   the file contains only its entries; lookups read blocks of it

The active segment's indexes grow; the others are trimmed and use no memory. The file is created or
read at the first use; until then a missing file is an empty index. A trimmed index grows again with
the next entry. A crash may leave zeros or lose entries, so recovery rebuilds the indexes of the
active segment.

An index without `max_bytes`, such as the transaction index, is not preallocated and is never full.

A loop must not create, grow or trim a file, because a file system that commits its journal blocks
these calls. `growth`, `trim_with` and `cut` return that work as a value, which a worker runs, and
`finish_growth` and `finish_trim` take over the result.
"""

from typing import Final, NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.ports import FileKind, Files
from cordwood.storage.files.open_file_cache import OpenFileCache

_UNLIMITED: Final = 1 << 62


class GrownIndex(NamedTuple):
    """The size and the entries of a file to which entries can be appended."""

    size: int
    data: bytes


class IndexGrowth(NamedTuple):
    """An index file to be created, or to be read and grown, up to `size` bytes."""

    path: str
    entry_size: int
    size: int

    def run(self, files: Files) -> GrownIndex:
        """Create the file, unless it exists, and grow it; for any thread."""
        try:
            file = files.create(self.path)
        except FileExistsError:
            file = files.open(self.path, writable=True)
        try:
            found = file.size
            data = file.pread(found - found % self.entry_size, 0)
            size = max(self.size, len(data))
            if size > found:
                file.preallocate(size)
            elif size < found:
                file.truncate(size)
        finally:
            file.close()
        return GrownIndex(size, data)


class IndexTrim(NamedTuple):
    """Last entries for an index file, at their position; the file is truncated behind them."""

    path: str
    entries: bytes
    position: int

    def run(self, files: Files) -> None:
        """Write the entries, and truncate the file; for any thread."""
        file = files.open(self.path, writable=True)
        try:
            if self.entries:
                file.pwrite(self.entries, self.position)
            file.truncate(self.position + len(self.entries))
        finally:
            file.close()


class IndexCut(NamedTuple):
    """An index file that keeps its first `exact` bytes, and zeros up to `size` behind them."""

    path: str
    exact: int
    size: int

    def run(self, files: Files) -> None:
        """Truncate the file, and preallocate it again; for any thread."""
        file = files.open(self.path, writable=True)
        try:
            file.truncate(self.exact)
            if self.size > self.exact:
                file.preallocate(self.size)
        finally:
            file.close()


class IndexFile:
    """The entries of one index file. The last `reserved` entries do not count as free space."""

    __slots__ = (
        "_count",
        "_data",
        "_exists",
        "_open_files",
        "_size",
        "entry_size",
        "max_bytes",
        "path",
        "reserved",
    )

    def __init__(
        self,
        open_files: OpenFileCache,
        path: str,
        *,
        entry_size: int,
        max_bytes: int | None = None,
        reserved: int = 0,
    ) -> None:
        self.path = path
        self.entry_size = entry_size
        self.max_bytes = max_bytes
        self.reserved = reserved
        self._open_files = open_files
        self._count = 0
        self._size = 0
        self._exists: bool | None = None
        self._data: bytearray | None = None

    @property
    def count(self) -> int:
        if self._exists is None:
            self._load()
        return self._count

    @property
    def size(self) -> int:
        """The bytes of the file, including preallocated ones."""
        self._load()
        return self._size

    @property
    def exists(self) -> bool:
        return self._load()

    @property
    def may_exist(self) -> bool:
        """Whether the file exists, as far as that is known without a look at the disk."""
        return self._exists is not False

    @property
    def is_growing(self) -> bool:
        """Whether the next entries change neither the name nor the size of the file."""
        return self._data is not None

    @property
    def is_full(self) -> bool:
        """Return whether only the reserved entries fit."""
        return self.max_bytes is not None and self.room <= self.reserved

    @property
    def room(self) -> int:
        """The number of entries that fit, including the reserved ones."""
        limit = _UNLIMITED if self.max_bytes is None else self.max_bytes
        return limit // self.entry_size - self.count

    @property
    def in_memory(self) -> Buffer | None:
        return self._data

    def read(self, first: int, count: int) -> Buffer:
        start, length = first * self.entry_size, count * self.entry_size
        if self._data is not None:
            return self._data[start : start + length]
        return self._open_files.open(self.path).pread(length, start)

    def use_cache(self, open_files: OpenFileCache) -> None:
        """Open the file through another cache from now on."""
        self._open_files = open_files

    def create(self) -> None:
        """Create the file at its largest size if it does not exist."""
        if self._exists or self._load():
            return
        file = self._open_files.create(self.path)
        self._exists = True
        if self.max_bytes is not None:
            self._size = self._round_down(self.max_bytes)
            file.preallocate(self._size)
        self._data = bytearray()

    def declare_missing(self) -> None:
        """Take for granted that the file does not exist: its segment is new."""
        self._exists = False

    def growth(self) -> IndexGrowth:
        """Return the work that makes the index grow; requires that it does not grow yet."""
        assert self._data is None, f"{self.path} has room already"
        if not self._exists:
            # The work may fail behind the creation of the file.
            self._exists = None
        limit = 0 if self.max_bytes is None else self._round_down(self.max_bytes)
        return IndexGrowth(self.path, self.entry_size, limit)

    def finish_growth(self, grown: GrownIndex) -> None:
        """Take over the file that `growth` has made."""
        self._exists, self._size = True, grown.size
        self._data = bytearray(grown.data)
        self._count = len(grown.data) // self.entry_size

    def trim_with(self, entries: bytes = b"") -> IndexTrim:
        """Return the work that appends last entries and trims a growing file."""
        assert self._data is not None, f"{self.path} is trimmed already"
        return IndexTrim(self.path, entries, self._count * self.entry_size)

    def finish_trim(self, trim: IndexTrim) -> None:
        """Take over the file that `trim_with` has trimmed, and release the memory."""
        self._size = trim.position + len(trim.entries)
        self._count = self._size // self.entry_size
        self._data = None

    def append(self, entries: bytes) -> None:
        """Write whole entries after the last one. If it raises, no entry has been added."""
        assert len(entries) % self.entry_size == 0, "entries are written whole"
        assert len(entries) <= self.room * self.entry_size, f"{self.path} is full"
        self.create()
        if self.max_bytes is None:
            self._open_files.open(self.path, writable=True).append(entries)
            self._size += len(entries)
        else:
            self.resize(self.max_bytes)
            file = self._open_files.open(self.path, writable=True)
            file.pwrite(entries, self._count * self.entry_size)
        self._count += len(entries) // self.entry_size
        if self._data is not None:
            self._data += entries

    def truncate_to(self, count: int) -> None:
        """Keep the first `count` entries; a growing file reads as zeros after them."""
        cut = self.cut(count)
        if cut is not None:
            cut.run(self._open_files.files)

    def cut(self, count: int) -> IndexCut | None:
        """Drop the entries from `count` on; return the work on the file, None without any."""
        count = min(count, self.count)
        before, exact = self._size, count * self.entry_size
        # Without preallocation a crash may leave a partial entry, which is truncated too.
        if count == self.count and (self.max_bytes is not None or before == exact):
            return None
        is_growing = self._data is not None
        if self._data is not None:
            del self._data[exact:]
        self._count = count
        self._size = before if is_growing and self.max_bytes is not None else exact
        return IndexCut(self.path, exact, self._size)

    def trim(self) -> None:
        """Truncate the file to its entries and release the memory; create the file if missing."""
        self.create()
        exact = self._count * self.entry_size
        if self._size != exact:
            self._open_files.open(self.path, writable=True).truncate(exact)
            self._size = exact
        self._data = None

    def resize(self, max_bytes: int) -> bool:
        """Set the largest size, keeping all entries; return whether the file's size changed."""
        self.max_bytes = max_bytes
        if not self._load():
            return False
        if self._data is None:
            length = self._count * self.entry_size
            self._data = bytearray(self._open_files.open(self.path).pread(length, 0))
        wanted = max(self._round_down(max_bytes), self._count * self.entry_size)
        if wanted == self._size:
            return False
        file = self._open_files.open(self.path, writable=True)
        if wanted > self._size:
            file.preallocate(wanted)
        else:
            file.truncate(wanted)
        self._size = wanted
        return True

    def reset(self) -> None:
        """Remove all entries and preallocate the file, so that it can grow."""
        self.create()
        file = self._open_files.open(self.path, writable=True)
        file.truncate(0)
        self._count, self._size, self._data = 0, 0, bytearray()
        if self.max_bytes is not None:
            file.preallocate(self._round_down(self.max_bytes))
            self._size = self._round_down(self.max_bytes)

    def rename(self, path: str) -> None:
        """Rename the file if it exists."""
        if self._load():
            self._open_files.rename(self.path, path)
        self.path = path

    def set_path(self, path: str) -> None:
        """Set the path after a rename of the directory."""
        self.path = path

    def remove(self) -> None:
        """Remove the file if it exists; the index is empty then."""
        if self._load():
            self._open_files.remove(self.path)
        self._exists, self._count, self._size, self._data = False, 0, 0, None

    def _load(self) -> bool:
        """Read the file's size at the first use; return whether the file exists.

        A directory or a pipe counts as a missing file; creating a file in its place fails.
        """
        if self._exists is None:
            try:
                stat = self._open_files.files.stat(self.path)
                self._exists = stat.kind is FileKind.FILE
            except FileNotFoundError:
                self._exists = False
            else:
                self._size = stat.size if self._exists else 0
            self._count = self._size // self.entry_size
        return self._exists

    def _round_down(self, size: int) -> int:
        return size - size % self.entry_size
