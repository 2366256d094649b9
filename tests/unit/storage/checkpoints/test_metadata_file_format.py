"""The metadata file is read as it was written; damage is rejected."""

import pytest

from cordwood.core.binary import crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.core.znodes import ZNode, ZNodeTree
from cordwood.storage.checkpoints.metadata_file_format import (
    decode_metadata,
    encode_copies,
    encode_line,
    encode_metadata,
)

PATH = "/cordwood.metadata"
NO_NODES = b"%08x [1]\n" % crc32c(b"[1]")
LINE = encode_line({"/a": ZNode(b"\xff\n\x00", 1)})


def file_of(*lines: bytes) -> bytes:
    return b"".join((b"cordwood.metadata 1\n", *lines))


def test_tree_is_read_as_it_was_written() -> None:
    tree = ZNodeTree()
    tree.apply({"/a": ZNode(b"\xff\n\x00", 1), "/b": ZNode(b"")})

    read = decode_metadata(encode_metadata(tree, change=7, copies=("x", "y")), path=PATH)

    assert [*read.tree] == [*tree]
    assert (read.version, read.lines) == (2, 2)
    assert (read.change, read.copies) == (7, ("x", "y"))


def test_each_later_line_is_one_change() -> None:
    tree = ZNodeTree()
    tree.apply({"/a": ZNode(b"")})
    whole = encode_metadata(tree, change=7, copies=("x", "y"))

    read = decode_metadata(whole + LINE + encode_copies(("y",)), path=PATH)

    assert read.tree.get("/a") == ZNode(b"\xff\n\x00", 1)
    assert (read.change, read.copies) == (9, ("y",))


def test_file_without_all_of_its_nodes_is_damaged() -> None:
    tree = ZNodeTree()
    tree.apply({"/a": ZNode(b""), "/b": ZNode(b"")})
    lines = encode_metadata(tree, change=1, copies=()).splitlines(keepends=True)

    for count in range(1, len(lines)):
        with pytest.raises(DamagedFileError, match=f"line {count + 1} is damaged or missing"):
            decode_metadata(b"".join(lines[:count]), path=PATH)


def test_changes_are_applied_in_order() -> None:
    read = decode_metadata(file_of(LINE, encode_line({"/a": None})), path=PATH)

    assert [*read.tree] == []


@pytest.mark.parametrize(
    "tail", (b"12", b"00000000 {}\n", b"\0\0\0\0", b"%08x [1]\n" % crc32c(b"[1]"))
)
def test_incomplete_last_line_does_not_count(tail: bytes) -> None:
    read = decode_metadata(file_of(LINE, tail), path=PATH)

    assert read.tree.children("/") == ["a"]
    assert read.end == len(file_of(LINE))


def test_incomplete_line_before_others_is_damage() -> None:
    with pytest.raises(DamagedFileError, match="line 3 is damaged"):
        decode_metadata(file_of(LINE, b"00000000 {}\n", LINE), path=PATH)


@pytest.mark.parametrize("data", (b"", b"cordwood.metadata 1", b"cordwood.metadata x\n", b"a\n"))
def test_file_of_another_kind_is_rejected(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="the file is not a metadata file"):
        decode_metadata(data, path=PATH)


def test_newer_format_is_rejected() -> None:
    with pytest.raises(DamagedFileError, match="format 3, which only a later release can read"):
        decode_metadata(b"cordwood.metadata 3\nwhatever\n", path=PATH)
