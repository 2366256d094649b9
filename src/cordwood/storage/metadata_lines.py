"""The text of `cordwood.metadata`, in which a broker that stands alone keeps its metadata.

    cordwood.metadata 1                              the format's version
    7323584d {"/brokers":[0,""]}                     a change: its CRC-32C, and what it made of
    d475f3e9 {"/brokers/topics/orders":[0,"{..}"]}   some nodes: version and data,
    fc96fd52 {"/brokers/topics/orders":null}         or null where there is none any more

A change is a line. What is left of one that a crash cut short is the last line, and does not count;
any other line that is not whole is damage. Bytes that are no UTF-8 stand as lone surrogates.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, NoReturn, TypeAlias

from cordwood.core.binary import crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.core.nodes import Effects, Node, NodeTree

METADATA_FILE: Final = "cordwood.metadata"
FORMAT: Final = 1

_TITLE: Final = b"cordwood.metadata "
_CHECKSUM_LENGTH: Final = 8

Formats: TypeAlias = Mapping[int, Callable[[str], Effects]]


class ReadMetadata(NamedTuple):
    """What a file says: its format, the nodes, how many it took to say it, and the end of that."""

    version: int
    tree: NodeTree
    written: int
    end: int


def _effects(text: str) -> Effects:
    """Return what a line of format 1 made of nodes; ValueError if it is none."""
    effects: dict[str, Node | None] = {}
    for path, found in json.loads(text).items():
        effects[path] = None if found is None else Node(_bytes(found[1]), int(found[0]))
    return effects


#: How the lines of each format are read. Only the last one is written.
FORMATS: Final[Formats] = MappingProxyType({FORMAT: _effects})


def decode_metadata(data: bytes, *, path: str, formats: Formats = FORMATS) -> ReadMetadata:
    """Return what a file says; DamagedFileError if it cannot be understood."""
    title, *lines = data.splitlines(keepends=True) or [b""]
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
    return ReadMetadata(version, tree, written, end)


def encode_metadata(tree: NodeTree) -> bytes:
    """Return a file that says what a tree is, and nothing of what it was."""
    lines = [encode_line({path: node}) for path, node in tree]
    return b"".join([_TITLE, b"%d\n" % FORMAT, *lines])


def encode_line(effects: Effects) -> bytes:
    """Return the line of a change."""
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
