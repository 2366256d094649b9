"""One index on disk, and how it grows.

    growing   the file has its largest size, zeros behind the entries; a copy of the entries is in
              memory, so that lookups read nothing
    exact     the file has its entries and nothing else; lookups read blocks of it

The active segment's indexes grow; the others are exact, and cost no memory. Nothing is made or read
before the index is used, a file that is missing is an empty index until then, and an exact one
begins to grow with the next entry. A crash may leave zeros behind or lose entries, which is why
recovery writes the active segment's indexes anew.

An index without `max_bytes` is not preallocated and never full; that of the transactions is one.
"""

from typing import Final

from cordwood.core.binary import Buffer
from cordwood.core.ports import Kind
from cordwood.storage.file_table import FileTable

_UNLIMITED: Final = 1 << 62


class IndexFile:
    """The entries of one index file. `reserved` of them are kept back when it is asked for room."""

    __slots__ = (
        "_count",
        "_data",
        "_exists",
        "_size",
        "_table",
        "entry_size",
        "max_bytes",
        "path",
        "reserved",
    )

    def __init__(
        self,
        table: FileTable,
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
        self._table = table
        self._count = 0
        self._size = 0
        self._exists: bool | None = None
        self._data: bytearray | None = None

    @property
    def count(self) -> int:
        self._look()
        return self._count

    @property
    def size(self) -> int:
        """The bytes of the file, preallocated ones included."""
        self._look()
        return self._size

    @property
    def exists(self) -> bool:
        return self._look()

    @property
    def is_full(self) -> bool:
        """Whether no entry fits but for the reserved ones."""
        return self.room <= self.reserved

    @property
    def room(self) -> int:
        """How many entries fit, the reserved ones included."""
        limit = _UNLIMITED if self.max_bytes is None else self.max_bytes
        return limit // self.entry_size - self.count

    @property
    def held(self) -> Buffer | None:
        return self._data

    def read(self, first: int, count: int) -> Buffer:
        start, length = first * self.entry_size, count * self.entry_size
        if self._data is not None:
            return self._data[start : start + length]
        return self._table.opened(self.path).pread(length, start)

    def use(self, table: FileTable) -> None:
        """Open the file through another table from now on."""
        self._table = table

    def make(self) -> None:
        """Make the file at its largest size, if there is none."""
        if self._look():
            return
        file = self._table.create(self.path)
        self._exists = True
        if self.max_bytes is not None:
            self._size = self._rounded(self.max_bytes)
            file.preallocate(self._size)
        self._data = bytearray()

    def append(self, entries: bytes) -> None:
        """Write whole entries behind the last one. When it raises, nothing has been added."""
        assert len(entries) % self.entry_size == 0, "entries are written whole"
        assert len(entries) <= self.room * self.entry_size, f"{self.path} is full"
        self.make()
        if self.max_bytes is None:
            self._table.opened(self.path, writable=True).append(entries)
            self._size += len(entries)
        else:
            self.resize(self.max_bytes)
            file = self._table.opened(self.path, writable=True)
            file.pwrite(entries, self._count * self.entry_size)
        self._count += len(entries) // self.entry_size
        if self._data is not None:
            self._data += entries

    def truncate_to(self, count: int) -> None:
        """Keep the first `count` entries; a file that grows reads as zeros behind them.

        A part of an entry, which a crash may leave where nothing is preallocated, is cut off too.
        """
        count = min(count, self.count)
        before, exact = self._size, count * self.entry_size
        if count == self.count and (self.max_bytes is not None or before == exact):
            return
        file = self._table.opened(self.path, writable=True)
        file.truncate(exact)
        self._count, self._size = count, exact
        if self._data is not None:
            del self._data[exact:]
        if self._data is not None and self.max_bytes is not None:
            file.preallocate(before)
            self._size = before

    def trim(self) -> None:
        """Cut the file to its entries, made if need be, and give the memory back."""
        self.make()
        exact = self._count * self.entry_size
        if self._size != exact:
            self._table.opened(self.path, writable=True).truncate(exact)
            self._size = exact
        self._data = None

    def resize(self, max_bytes: int) -> bool:
        """Let the file grow up to another size; say whether its present one has changed.

        No entry is cut off.
        """
        self.max_bytes = max_bytes
        if not self._look():
            return False
        if self._data is None:
            length = self._count * self.entry_size
            self._data = bytearray(self._table.opened(self.path).pread(length, 0))
        wanted = max(self._rounded(max_bytes), self._count * self.entry_size)
        if wanted == self._size:
            return False
        file = self._table.opened(self.path, writable=True)
        if wanted > self._size:
            file.preallocate(wanted)
        else:
            file.truncate(wanted)
        self._size = wanted
        return True

    def reset(self) -> None:
        """Drop all entries; the file is at its largest size and all zeros, ready to grow."""
        self.make()
        file = self._table.opened(self.path, writable=True)
        file.truncate(0)
        self._count, self._size, self._data = 0, 0, bytearray()
        if self.max_bytes is not None:
            file.preallocate(self._rounded(self.max_bytes))
            self._size = self._rounded(self.max_bytes)

    def rename(self, path: str) -> None:
        """Give the file another name, if there is one."""
        if self._look():
            self._table.rename(self.path, path)
        self.path = path

    def moved(self, path: str) -> None:
        """Go by another name from now on: the directory has got one."""
        self.path = path

    def remove(self) -> None:
        """Remove the file, if there is one; what is left is an empty index."""
        if self._look():
            self._table.remove(self.path)
        self._exists, self._count, self._size, self._data = False, 0, 0, None

    def _look(self) -> bool:
        """Learn the file's size before the first use; say whether there is a file.

        What is no file is none; making one in its place is refused.
        """
        if self._exists is None:
            try:
                stat = self._table.files.stat(self.path)
                self._exists = stat.kind is Kind.FILE
            except FileNotFoundError:
                self._exists = False
            else:
                self._size = stat.size if self._exists else 0
            self._count = self._size // self.entry_size
        return self._exists

    def _rounded(self, size: int) -> int:
        return size - size % self.entry_size
