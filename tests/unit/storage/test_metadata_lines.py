"""The text of the metadata: what it says, and what is refused."""

import pytest

from cordwood.core.binary import crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.core.nodes import Node, NodeTree
from cordwood.storage.metadata_lines import decode_metadata, encode_line, encode_metadata

PATH = "/cordwood.metadata"
NO_NODES = b"%08x [1]\n" % crc32c(b"[1]")
LINE = encode_line({"/a": Node(b"\xff\n\x00", 1)})


def file_of(*lines: bytes) -> bytes:
    return b"".join((b"cordwood.metadata 1\n", *lines))


def test_tree_is_read_as_it_was_written() -> None:
    tree = NodeTree()
    tree.apply({"/a": Node(b"\xff\n\x00", 1), "/b": Node(b"")})

    read = decode_metadata(encode_metadata(tree), path=PATH)

    assert [*read.tree] == [*tree]
    assert (read.version, read.written) == (1, 2)


def test_changes_are_made_in_their_order() -> None:
    read = decode_metadata(file_of(LINE, encode_line({"/a": None})), path=PATH)

    assert [*read.tree] == []


@pytest.mark.parametrize(
    "tail", (b"12", b"00000000 {}\n", b"\0\0\0\0", b"%08x [1]\n" % crc32c(b"[1]"))
)
def test_last_line_that_is_not_whole_does_not_count(tail: bytes) -> None:
    read = decode_metadata(file_of(LINE, tail), path=PATH)

    assert (read.tree.children("/"), read.end) == (["a"], len(file_of(LINE)))


def test_line_that_is_not_whole_before_others_is_damage() -> None:
    with pytest.raises(DamagedFileError, match="line 3 is not what was written"):
        decode_metadata(file_of(LINE, b"00000000 {}\n", LINE), path=PATH)


@pytest.mark.parametrize("data", (b"", b"cordwood.metadata 1", b"cordwood.metadata x\n", b"a\n"))
def test_file_of_something_else_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="this is no file of metadata"):
        decode_metadata(data, path=PATH)


def test_newer_format_is_refused() -> None:
    with pytest.raises(DamagedFileError, match="format 2, which only a later release can read"):
        decode_metadata(b"cordwood.metadata 2\nwhatever\n", path=PATH)
