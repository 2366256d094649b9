"""The metadata of a broker that stands alone: one file of text, `cordwood.metadata`.

    cordwood.metadata 1                              the format's version
    7323584d {"/brokers":[0,""]}                     a change: its CRC-32C, and what it made of
    d475f3e9 {"/brokers/topics/orders":[0,"{..}"]}   some nodes: version and data,
    fc96fd52 {"/brokers/topics/orders":null}         or null where there is none any more

A change is a line, appended and synced before it counts. What is left of one that a crash cut short
is the last line, and is cut off; any other line that is not whole is damage. When most lines have
been overtaken the file is written anew, a line a node, beside the old one and then in its place.
Bytes that are no UTF-8 stand as lone surrogates.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Final, NoReturn, Self

from cordwood.core.binary import crc32c
from cordwood.core.errors import DamagedFileError, KafkaStorageError
from cordwood.core.nodes import Effects, Node, NodeChange, NodeTree
from cordwood.core.ports import Files, OpenFile
from cordwood.storage.atomic import directory_of, read_whole, write_atomically, write_synced

METADATA_FILE: Final = "cordwood.metadata"
FORMAT: Final = 1

_TITLE: Final = b"cordwood.metadata "
_CHECKSUM_LENGTH: Final = 8
#: A file is written anew only once so many changes in it have been overtaken, and most.
_OVERTAKEN_AT_LEAST: Final = 1000


def _effects(text: str) -> Effects:
    """Return what a line of format 1 made of nodes; ValueError if it is none."""
    effects: dict[str, Node | None] = {}
    for path, found in json.loads(text).items():
        effects[path] = None if found is None else Node(_bytes(found[1]), int(found[0]))
    return effects


#: How the lines of each format are read. Only the last one is written.
FORMATS: Final[Mapping[int, Callable[[str], Effects]]] = MappingProxyType({FORMAT: _effects})


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
        write_atomically(files, path, data=_whole(tree))
        return cls(files, path, tree, written=len(tree))

    @classmethod
    def open(
        cls,
        files: Files,
        path: str,
        *,
        formats: Mapping[int, Callable[[str], Effects]] = FORMATS,
    ) -> Self:
        """Read a file; DamagedFileError if it cannot be understood. An older format is renewed."""
        title, *lines = read_whole(files, path).splitlines(keepends=True) or [b""]
        version = _version(title, formats, path=path)
        tree, written, end = NodeTree(), 0, len(title)
        for number, line in enumerate(lines, 1):
            effects = _read(line, formats[version])
            if effects is None and number == len(lines):
                break
            if effects is None:
                _refuse_line(number + 1, path)
            tree.apply(effects)
            written += len(effects)
            end += len(line)
        made = cls(files, path, tree, written=written)
        if version != FORMAT:
            write_atomically(files, path, data=_whole(tree))
        else:
            made._begin_at(end)
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
            file.append(_line(effects))
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
            write_synced(self._files, beside, data=_whole(self._tree))
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


def _whole(tree: NodeTree) -> bytes:
    """Return a file that says what a tree is, and nothing of what it was."""
    lines = [_line({path: node}) for path, node in tree]
    return b"".join([_TITLE, b"%d\n" % FORMAT, *lines])


def _line(effects: Effects) -> bytes:
    content = {
        path: None if node is None else [node.version, _text(node.data)]
        for path, node in effects.items()
    }
    text = json.dumps(content, separators=(",", ":")).encode("ascii")
    return b"%08x %s\n" % (crc32c(text), text)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _version(title: bytes, formats: Mapping[int, object], *, path: str) -> int:
    words = title.removeprefix(_TITLE)
    if words == title or not words.strip().isdigit() or not title.endswith(b"\n"):
        raise DamagedFileError(
            "this is no file of metadata",
            path=path,
            position=1,
            expected=f"{_TITLE.decode()}{FORMAT}",
            found=repr(title[:40]),
            remedy="restore it, or move it away to have topics found by their directories",
        )
    version = int(words)
    if version not in formats:
        raise DamagedFileError(
            f"the metadata have format {version}, which only a later release can read",
            path=path,
            position=1,
            expected=f"format {FORMAT} at most",
            found=version,
            remedy="start the release that has written it, or a later one",
        )
    return version


def _read(line: bytes, reading: Callable[[str], Effects]) -> Effects | None:
    """Return what a line made of nodes, None if it is not whole."""
    checksum, text = line[:_CHECKSUM_LENGTH], line[_CHECKSUM_LENGTH + 1 : -1]
    if not line.endswith(b"\n") or checksum != b"%08x" % crc32c(text):
        return None
    try:
        return reading(text.decode("ascii"))
    except (ValueError, TypeError, IndexError, KeyError, AttributeError):
        return None


def _refuse_line(number: int, path: str) -> NoReturn:
    raise DamagedFileError(
        f"line {number} is not what was written",
        path=path,
        position=number,
        remedy="restore the file, or move it away to have topics found by their directories",
    )
