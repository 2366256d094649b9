"""Format of `cordwood.metadata`, the metadata file of a standalone broker.

    cordwood.metadata 2                                   the format's version
    0b5c8ed5 {"change":7,"nodes":1,"copies":["a","b"]}    the header; see below
    7323584d {"/brokers":[0,""]}                          a node: its path, version and data
    d475f3e9 {"/brokers/topics/orders":[0,"{..}"]}        a change: the new version and data of
    fc96fd52 {"/brokers/topics/orders":null}              nodes, or null if a node was deleted
    2f0c1d93 {"copies":["b"]}                             the directories that have copies now

The header has the number of the last change that the next `nodes` lines contain, and the ids of the
log directories with a copy of the file. Each later line is one more change. A line begins with its
CRC-32C. The last line may be incomplete after a crash and then does not count; any other incomplete
line, or a missing node line, is damage. Bytes that are not UTF-8 are written as lone surrogates.

Format 1 has no header and no copies: its lines are changes from the first on.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

from cordwood.core.binary import crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.core.znodes import ZNode, ZNodeEffects, ZNodeTree

METADATA_FILE: Final = "cordwood.metadata"
FORMAT: Final = 2

_WITHOUT_HEADER: Final = 1
_TITLE: Final = b"cordwood.metadata "
_CHECKSUM_LENGTH: Final = 8
_CHANGE: Final = "change"
_NODES: Final = "nodes"
_COPIES: Final = "copies"
_REMEDY: Final = (
    "restore the file from a backup. If there is none, move it away: topics are then found by "
    "their directories. The settings of topics and brokers are lost, and no record of these topics "
    "is deleted or compacted until their cleanup.policy, retention.ms and retention.bytes are set"
)


class MetadataHeader(NamedTuple):
    """The number of the last change in the file's nodes, and the directories with a copy."""

    change: int = 0
    nodes: int = 0
    copies: tuple[str, ...] = ()


class MetadataFileContent(NamedTuple):
    """The content of a file: its nodes, its last change, and the position behind it.

    `lines` counts the lines of nodes and changes.
    """

    version: int
    tree: ZNodeTree
    change: int
    copies: tuple[str, ...]
    lines: int
    end: int


def decode_metadata(data: bytes, *, path: str) -> MetadataFileContent:
    """Return the content of a file; DamagedFileError if it cannot be read."""
    title, *lines = data.splitlines(keepends=True) or [b""]
    reader = _Reader(path, _version(title, path=path), end=len(title))
    if reader.version != _WITHOUT_HEADER:
        reader.read_header(lines.pop(0) if lines else b"")
    return reader.read(lines)


def encode_metadata(tree: ZNodeTree, *, change: int, copies: Sequence[str]) -> bytes:
    """Return a file with the present nodes of a tree, without their history."""
    header = {_CHANGE: change, _NODES: len(tree), _COPIES: [*copies]}
    lines = [encode_line({path: node}) for path, node in tree]
    return b"".join([_TITLE, b"%d\n" % FORMAT, _line(header), *lines])


def encode_line(effects: ZNodeEffects) -> bytes:
    """Return the line of a change."""
    return _line(
        {
            path: None if node is None else [node.version, _text(node.data)]
            for path, node in effects.items()
        }
    )


def encode_copies(copies: Sequence[str]) -> bytes:
    """Return the line of a change of the directories with a copy."""
    return _line({_COPIES: [*copies]})


class _Reader:
    """Reads a file line by line."""

    def __init__(self, path: str, version: int, *, end: int) -> None:
        self.version = version
        self._path = path
        self._tree = ZNodeTree()
        self._header = MetadataHeader()
        self._copies: tuple[str, ...] = ()
        self._end = end
        self._before = 2  # the number of the first line of a node or a change

    def read_header(self, line: bytes) -> None:
        content = _decode(line)
        try:
            self._header = MetadataHeader(
                int(str(content[_CHANGE])), int(str(content[_NODES])), _copies(content)
            )
        except (KeyError, TypeError, ValueError):
            _reject_line(self._before, self._path)
        self._copies = self._header.copies
        self._end += len(line)
        self._before += 1

    def read(self, lines: Sequence[bytes]) -> MetadataFileContent:
        """Return the content of the file, whose lines after the header are given."""
        nodes, count = self._header.nodes, 0
        for line in lines:
            if not self._apply(_decode(line)):
                break
            count += 1
            self._end += len(line)
        is_last = count >= len(lines) - 1
        if count < nodes or not is_last:
            _reject_line(self._before + count, self._path)
        return MetadataFileContent(
            self.version,
            self._tree,
            self._header.change + count - nodes,
            self._copies,
            count,
            self._end,
        )

    def _apply(self, content: Mapping[str, object]) -> bool:
        """Apply a line; return whether it is complete."""
        try:
            if _COPIES in content:
                self._copies = _copies(content)
            else:
                self._tree.apply(_effects(content))
        except (TypeError, ValueError, IndexError, KeyError, AttributeError):
            return False
        return bool(content)


def _decode(line: bytes) -> dict[str, object]:
    """Return the JSON object of a line; it is empty if the line is not complete."""
    checksum, text = line[:_CHECKSUM_LENGTH], line[_CHECKSUM_LENGTH + 1 : -1]
    if not line.endswith(b"\n") or checksum != b"%08x" % crc32c(text):
        return {}
    try:
        content = json.loads(text.decode("ascii"))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _effects(content: Mapping[str, object]) -> ZNodeEffects:
    effects: dict[str, ZNode | None] = {}
    for path, found in content.items():
        if found is not None and not isinstance(found, list):
            raise TypeError(path)
        effects[path] = None if found is None else ZNode(_bytes(found[1]), int(found[0]))
    return effects


def _copies(content: Mapping[str, object]) -> tuple[str, ...]:
    found = content[_COPIES]
    if not isinstance(found, list):
        raise TypeError(_COPIES)
    return tuple(map(str, found))


def _line(content: Mapping[str, object]) -> bytes:
    text = json.dumps(content, separators=(",", ":")).encode("ascii")
    return b"%08x %s\n" % (crc32c(text), text)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _version(title: bytes, *, path: str) -> int:
    words = title.removeprefix(_TITLE)
    if words == title or not words.strip().isdigit() or not title.endswith(b"\n"):
        raise DamagedFileError(
            "the file is not a metadata file",
            path=path,
            position=1,
            expected=f"{_TITLE.decode()}{FORMAT}",
            found=repr(title[:40]),
            remedy=_REMEDY,
        )
    version = int(words)
    if not _WITHOUT_HEADER <= version <= FORMAT:
        raise DamagedFileError(
            f"the metadata file has format {version}, which only a later release can read",
            path=path,
            position=1,
            expected=f"format {FORMAT} at most",
            found=version,
            remedy="start the release that wrote it, or a later one",
        )
    return version


def _reject_line(number: int, path: str) -> NoReturn:
    raise DamagedFileError(
        f"line {number} is damaged or missing", path=path, position=number, remedy=_REMEDY
    )
