"""Metadata store of a single broker: the text file `cordwood.metadata`.

A change is one line, appended and fsynced before it takes effect; the format is in
`storage.checkpoints.metadata_file_format`. A line that a crash has cut short is truncated. When
most lines are obsolete, a new file with one line a node replaces the old one by a rename.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Final, NoReturn, Self

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Files, OpenFile
from cordwood.core.znodes import ZNode, ZNodeChange, ZNodeEffects, ZNodeTree
from cordwood.storage.checkpoints.metadata_file_format import (
    FORMAT,
    FORMATS,
    Formats,
    decode_metadata,
    encode_line,
    encode_metadata,
)
from cordwood.storage.files.atomic_write import (
    directory_of,
    read_whole,
    write_atomically,
    write_synced,
)

#: A file is rewritten only if this many of its changes are obsolete, and more than half of them.
_MIN_OBSOLETE: Final = 1000


class MetadataFile:
    """The MetadataStore port over a file; one process at a time has it open."""

    def __init__(self, files: Files, path: str, tree: ZNodeTree, *, written: int) -> None:
        self._files = files
        self._path = path
        self._tree = tree
        self._written = written
        self._file: OpenFile | None = None
        self._failure: OSError | None = None
        self._changing = Lock()
        self._looking = Lock()

    @classmethod
    def create(cls, files: Files, path: str, *, changes: Sequence[ZNodeChange]) -> Self:
        """Create a file with `changes` applied to an empty tree, atomically."""
        tree = ZNodeTree()
        tree.apply(tree.plan(changes))
        write_atomically(files, path, data=encode_metadata(tree))
        return cls(files, path, tree, written=len(tree))

    @classmethod
    def open(cls, files: Files, path: str, *, formats: Formats = FORMATS) -> Self:
        """Open a file and upgrade an older format; raise DamagedFileError if it is damaged."""
        read = decode_metadata(read_whole(files, path), path=path, formats=formats)
        opened = cls(files, path, read.tree, written=read.written)
        if read.version != FORMAT:
            write_atomically(files, path, data=encode_metadata(read.tree))
        else:
            opened._truncate_to(read.end)
        return opened

    def get(self, path: str) -> ZNode | None:
        with self._looking:
            return self._tree.get(path)

    def children(self, path: str) -> list[str]:
        with self._looking:
            return self._tree.children(path)

    def multi(self, changes: Sequence[ZNodeChange]) -> None:
        with self._changing:
            effects = self._tree.plan(changes)
            if not effects:
                return
            self._append(effects)
            with self._looking:
                self._tree.apply(effects)
            self._written += len(effects)
            if self._written > 2 * len(self._tree) + _MIN_OBSOLETE:
                self._rewrite()

    def close(self) -> None:
        """Close the file; the store is not used again."""
        with self._changing:
            self._close_file()

    # -- the file

    def _truncate_to(self, end: int) -> None:
        """Truncate the rest of an incomplete change, and fsync the changes before it."""
        file = self._open_file()
        if file.size > end:
            file.truncate(end)
        # The changes read are in use from now on, so they must survive the next crash.
        file.sync()

    def _append(self, effects: ZNodeEffects) -> None:
        """Append a change and fsync it; a failed fsync closes the store for all later changes."""
        if self._failure is not None:
            raise KafkaStorageError(f"{self._path}: {self._failure}")
        try:
            file = self._open_file()
            file.append(encode_line(effects))
        except OSError as error:
            raise KafkaStorageError(f"{self._path}: {error}") from error
        try:
            file.sync()
        except OSError as error:
            self._fail(error)

    def _rewrite(self) -> None:
        """Replace the file by one without obsolete lines."""
        temporary = f"{self._path}.tmp"
        try:
            write_synced(self._files, temporary, data=encode_metadata(self._tree))
        except OSError:
            # There is no room for two files: the old one stays, and the count begins again.
            self._written = 0
            return
        self._close_file()
        try:
            self._files.rename(temporary, self._path)
            self._files.sync_directory(directory_of(self._path))
        except OSError as error:
            self._failure = error
        self._written = len(self._tree)

    def _open_file(self) -> OpenFile:
        if self._file is None:
            self._file = self._files.open(self._path, writable=True)
        return self._file

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _fail(self, error: OSError) -> NoReturn:
        self._failure = error
        raise KafkaStorageError(f"{self._path}: {error}") from error
