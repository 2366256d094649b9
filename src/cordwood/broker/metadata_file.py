"""The metadata of a broker that stands alone: one file of text, `cordwood.metadata`.

A change is a line, appended and synced before it counts (`storage.metadata_lines` says how it is
written). What is left of one that a crash cut short is cut off. When most lines have been overtaken
the file is written anew, a line a node, beside the old one and then in its place.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Final, NoReturn, Self

from cordwood.core.errors import KafkaStorageError
from cordwood.core.nodes import Effects, Node, NodeChange, NodeTree
from cordwood.core.ports import Files, OpenFile
from cordwood.storage.atomic import directory_of, read_whole, write_atomically, write_synced
from cordwood.storage.metadata_lines import (
    FORMAT,
    FORMATS,
    Formats,
    decode_metadata,
    encode_line,
    encode_metadata,
)

#: A file is written anew only once so many changes in it have been overtaken, and most.
_OVERTAKEN_AT_LEAST: Final = 1000


class MetadataFile:
    """The MetadataStore port over a file, which one process at a time has open."""

    def __init__(self, files: Files, path: str, tree: NodeTree, *, written: int) -> None:
        self._files = files
        self._path = path
        self._tree = tree
        self._written = written
        self._file: OpenFile | None = None
        self._failure: OSError | None = None
        self._changing = Lock()
        self._looking = Lock()

    @classmethod
    def create(cls, files: Files, path: str, *, changes: Sequence[NodeChange]) -> Self:
        """Make a file that holds what `changes` make of an empty tree, whole or not at all."""
        tree = NodeTree()
        tree.apply(tree.plan(changes))
        write_atomically(files, path, data=encode_metadata(tree))
        return cls(files, path, tree, written=len(tree))

    @classmethod
    def open(cls, files: Files, path: str, *, formats: Formats = FORMATS) -> Self:
        """Read a file; DamagedFileError if it cannot be understood. An older format is renewed."""
        read = decode_metadata(read_whole(files, path), path=path, formats=formats)
        made = cls(files, path, read.tree, written=read.written)
        if read.version != FORMAT:
            write_atomically(files, path, data=encode_metadata(read.tree))
        else:
            made._begin_at(read.end)
        return made

    def get(self, path: str) -> Node | None:
        with self._looking:
            return self._tree.get(path)

    def children(self, path: str) -> list[str]:
        with self._looking:
            return self._tree.children(path)

    def multi(self, changes: Sequence[NodeChange]) -> None:
        with self._changing:
            effects = self._tree.plan(changes)
            if not effects:
                return
            self._keep(effects)
            with self._looking:
                self._tree.apply(effects)
            self._written += len(effects)
            if self._written > 2 * len(self._tree) + _OVERTAKEN_AT_LEAST:
                self._renew()

    def close(self) -> None:
        """Give the file back; the store is not used again."""
        with self._changing:
            self._let_go()

    # -- the file

    def _begin_at(self, end: int) -> None:
        """Cut off what a crash left of a change, and let what is believed survive the next one."""
        file = self._opened()
        if file.size > end:
            file.truncate(end)
        file.sync()

    def _keep(self, effects: Effects) -> None:
        """Append a change; nothing is known of the file after a sync that failed."""
        if self._failure is not None:
            raise KafkaStorageError(f"{self._path}: {self._failure}")
        try:
            file = self._opened()
            file.append(encode_line(effects))
        except OSError as error:
            raise KafkaStorageError(f"{self._path}: {error}") from error
        try:
            file.sync()
        except OSError as error:
            self._fail(error)

    def _renew(self) -> None:
        """Write the file anew. If there is no room for two of them, it goes on as it is."""
        beside = f"{self._path}.tmp"
        try:
            write_synced(self._files, beside, data=encode_metadata(self._tree))
        except OSError:
            self._written = 0
            return
        self._let_go()
        try:
            self._files.rename(beside, self._path)
            self._files.sync_directory(directory_of(self._path))
        except OSError as error:
            self._failure = error
        self._written = len(self._tree)

    def _opened(self) -> OpenFile:
        if self._file is None:
            self._file = self._files.open(self._path, writable=True)
        return self._file

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _fail(self, error: OSError) -> NoReturn:
        self._failure = error
        raise KafkaStorageError(f"{self._path}: {error}") from error
