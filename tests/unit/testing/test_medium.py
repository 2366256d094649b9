"""Operations reach the present and the medium apart from each other."""

import pytest

from cordwood.core.types import TimestampMs
from cordwood.testing.medium import Directory, FileNode, Operation, names_changed


def test_write_reaches_the_medium_when_carried_over() -> None:
    node = FileNode(TimestampMs(0))
    write = Operation.write(node, "/a", position=2, data=b"xyz")

    write.apply()
    before = bytes(node.durable)
    write.carry_over(torn_at=1)

    assert (bytes(node.now), before, bytes(node.durable)) == (b"\0\0xyz", b"", b"\0\0x")


@pytest.mark.parametrize(("torn_at", "left"), ((-1, b"xy\0"), (-3, b"\0\0\0"), (-9, b"\0\0\0")))
def test_write_leaves_zeros_where_there_was_room_and_no_data(torn_at: int, left: bytes) -> None:
    node = FileNode(TimestampMs(0))

    Operation.write(node, "/a", position=0, data=b"xyz").carry_over(torn_at)

    assert node.durable == left


def test_write_torn_at_its_start_leaves_nothing() -> None:
    node = FileNode(TimestampMs(0))

    Operation.write(node, "/a", position=2, data=b"xyz").carry_over(torn_at=0)

    assert node.durable == b""


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
