"""Operations reach the present and the medium apart from each other."""

import pytest

from cordwood.core.types import TimestampMs
from cordwood.testing.medium import Directory, FileNode, Loss, Operation, names_changed


def test_write_reaches_the_medium_when_carried_over() -> None:
    node = FileNode(TimestampMs(0))
    write = Operation.write(node, "/a", position=2, data=b"xyz")

    write.apply()
    before = bytes(node.durable)
    write.carry_over(Loss(1))

    assert (bytes(node.now), before, bytes(node.durable)) == (b"\0\0xyz", b"", b"\0\0x")


@pytest.mark.parametrize(
    ("loss", "left"),
    (
        (Loss(0), b"abcdef"),
        (Loss(2), b"abuvef"),
        (Loss(2, is_zeroed=True), b"abuv\0\0\0\0"),
        (Loss(0, 2), b"abcdwxyz"),
        (Loss(0, 2, is_zeroed=True), b"ab\0\0wxyz"),
        (Loss(1, 3), b"abudexyz"),
        (Loss(1, 3, is_zeroed=True), b"abu\0\0xyz"),
        (Loss(3, 99, is_zeroed=True), b"abuvw\0\0\0"),
    ),
)
def test_write_arrives_but_for_its_loss(loss: Loss, left: bytes) -> None:
    node = FileNode(TimestampMs(0))
    Operation.write(node, "/a", position=0, data=b"abcdef").carry_over()

    Operation.write(node, "/a", position=2, data=b"uvwxyz").carry_over(loss)

    assert node.durable == left


def test_write_whose_beginning_is_lost_has_zeros_before_it_where_there_was_nothing() -> None:
    node = FileNode(TimestampMs(0))

    Operation.write(node, "/a", position=2, data=b"xyz").carry_over(Loss(0, 2))

    assert node.durable == b"\0\0\0\0z"


def test_rename_of_a_name_that_never_arrived_does_nothing() -> None:
    directory = Directory()

    Operation.rename((directory, "a"), (directory, "b"), paths="a -> b").carry_over()

    assert directory.durable == {}


def test_renames_join_directories() -> None:
    one, two, three, apart = (Directory() for _ in range(4))
    renames = [
        Operation.rename((two, "a"), (three, "a"), paths=""),
        Operation.rename((one, "a"), (two, "a"), paths=""),
        Operation.rename((apart, "a"), (apart, "b"), paths=""),
    ]

    assert names_changed(one, renames) == [one, two, three]
