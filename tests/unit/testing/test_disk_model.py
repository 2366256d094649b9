"""Operations change the visible and the durable state independently."""

import pytest

from cordwood.core.types import TimestampMs
from cordwood.testing.disk_model import (
    DirectoryNode,
    DiskOperation,
    FileNode,
    TornWrite,
)


def test_write_reaches_the_medium_when_carried_over() -> None:
    node = FileNode(TimestampMs(0))
    write = DiskOperation.write(node, "/a", position=2, data=b"xyz")

    write.apply()
    before = bytes(node.durable)
    write.carry_over(TornWrite(1))

    assert bytes(node.now) == b"\0\0xyz"
    assert before == b""
    assert bytes(node.durable) == b"\0\0x"


@pytest.mark.parametrize(
    ("loss", "left"),
    (
        (TornWrite(0), b"abcdef"),
        (TornWrite(2), b"abuvef"),
        (TornWrite(2, is_zeroed=True), b"abuv\0\0\0\0"),
        (TornWrite(0, 2), b"abcdwxyz"),
        (TornWrite(0, 2, is_zeroed=True), b"ab\0\0wxyz"),
        (TornWrite(1, 3), b"abudexyz"),
        (TornWrite(1, 3, is_zeroed=True), b"abu\0\0xyz"),
        (TornWrite(3, 99, is_zeroed=True), b"abuvw\0\0\0"),
    ),
)
def test_write_arrives_but_for_its_loss(loss: TornWrite, left: bytes) -> None:
    node = FileNode(TimestampMs(0))
    DiskOperation.write(node, "/a", position=0, data=b"abcdef").carry_over()

    DiskOperation.write(node, "/a", position=2, data=b"uvwxyz").carry_over(loss)

    assert node.durable == left


def test_write_whose_beginning_is_lost_leaves_zeros_before_it() -> None:
    node = FileNode(TimestampMs(0))

    DiskOperation.write(node, "/a", position=2, data=b"xyz").carry_over(TornWrite(0, 2))

    assert node.durable == b"\0\0\0\0z"


def test_rename_of_a_name_that_was_not_durable_has_no_effect() -> None:
    directory = DirectoryNode()

    DiskOperation.rename((directory, "a"), (directory, "b"), paths="a -> b").carry_over()

    assert directory.durable == {}
