"""Format of `cordwood.metadata`, the metadata file of a standalone broker.

    cordwood.metadata 1                              the format's version
    7323584d {"/brokers":[0,""]}                     a change: its CRC-32C, then by path
    d475f3e9 {"/brokers/topics/orders":[0,"{..}"]}   the new version and data of a node,
    fc96fd52 {"/brokers/topics/orders":null}         or null if the node was deleted

Each line is a change. The last line may be incomplete after a crash and then does not count; any
other incomplete line is damage. Bytes that are not UTF-8 are written as lone surrogates.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, NoReturn, TypeAlias

from cordwood.core.binary import crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.core.znodes import ZNode, ZNodeEffects, ZNodeTree

METADATA_FILE: Final = "cordwood.metadata"
FORMAT: Final = 1

_TITLE: Final = b"cordwood.metadata "
_CHECKSUM_LENGTH: Final = 8

Formats: TypeAlias = Mapping[int, Callable[[str], ZNodeEffects]]


class MetadataFileContent(NamedTuple):
    """The content of a file: format, nodes, the number of node changes, the end of the last one."""

    version: int
    tree: ZNodeTree
    written: int
    end: int


def _effects(text: str) -> ZNodeEffects:
    """Return the node changes in a line of format 1; ValueError if it is not valid."""
    effects: dict[str, ZNode | None] = {}
    for path, found in json.loads(text).items():
        effects[path] = None if found is None else ZNode(_bytes(found[1]), int(found[0]))
    return effects


#: The line readers by format. Files are written in the last format only.
FORMATS: Final[Formats] = MappingProxyType({FORMAT: _effects})


def decode_metadata(data: bytes, *, path: str, formats: Formats = FORMATS) -> MetadataFileContent:
    """Return the content of a file; DamagedFileError if it cannot be read."""
    title, *lines = data.splitlines(keepends=True) or [b""]
    version = _version(title, formats, path=path)
    tree, written, end = ZNodeTree(), 0, len(title)
    for number, line in enumerate(lines, 1):
        effects = _read(line, formats[version])
        if effects is None and number == len(lines):
            break
        if effects is None:
            _reject_line(number + 1, path)
        tree.apply(effects)
        written += len(effects)
        end += len(line)
    return MetadataFileContent(version, tree, written, end)


def encode_metadata(tree: ZNodeTree) -> bytes:
    """Return a file with the present nodes of a tree, without their history."""
    lines = [encode_line({path: node}) for path, node in tree]
    return b"".join([_TITLE, b"%d\n" % FORMAT, *lines])


def encode_line(effects: ZNodeEffects) -> bytes:
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
            "the file is not a metadata file",
            path=path,
            position=1,
            expected=f"{_TITLE.decode()}{FORMAT}",
            found=repr(title[:40]),
            remedy="restore it, or move it away to have topics found by their directories",
        )
    version = int(words)
    if version not in formats:
        raise DamagedFileError(
            f"the metadata file has format {version}, which only a later release can read",
            path=path,
            position=1,
            expected=f"format {FORMAT} at most",
            found=version,
            remedy="start the release that wrote it, or a later one",
        )
    return version


def _read(line: bytes, reading: Callable[[str], ZNodeEffects]) -> ZNodeEffects | None:
    """Return the node changes in a line; None if it is not complete."""
    checksum, text = line[:_CHECKSUM_LENGTH], line[_CHECKSUM_LENGTH + 1 : -1]
    if not line.endswith(b"\n") or checksum != b"%08x" % crc32c(text):
        return None
    try:
        return reading(text.decode("ascii"))
    except (ValueError, TypeError, IndexError, KeyError, AttributeError):
        return None


def _reject_line(number: int, path: str) -> NoReturn:
    raise DamagedFileError(
        f"line {number} is damaged",
        path=path,
        position=number,
        remedy="restore the file, or move it away to have topics found by their directories",
    )
