"""What a disk cannot read counts as zeros and is told."""

import errno

import pytest

from cordwood.storage.source import DirectorySource
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.unreadable import PAGE_BYTES, ReadAround, Stretch, Unreadable
from tests.unit.workbench.bad_disk import on_bad_disk
from tests.unit.workbench.verified import damages, healthy, notes

DATA = b"x" * (4 * PAGE_BYTES - 100)


def around(bad: range) -> tuple[ReadAround, Unreadable]:
    files = MemoryFiles()
    files.make_directory("/t-0")
    files.create("/t-0/a").append(DATA)
    unreadable = Unreadable()
    return ReadAround(DirectorySource(on_bad_disk(files, "/t-0/a", bad), "/t-0"), unreadable), (
        unreadable
    )


@pytest.mark.parametrize("position", (0, 10, PAGE_BYTES))
def test_page_that_cannot_be_read_is_zeros(position: int) -> None:
    source, unreadable = around(range(PAGE_BYTES + 7, PAGE_BYTES + 8))

    found = source.read("a", len(DATA), position)

    expected = bytearray(DATA)
    expected[PAGE_BYTES : 2 * PAGE_BYTES] = bytes(PAGE_BYTES)
    assert found == expected[position:]
    assert list(unreadable.stretches()) == [Stretch("/t-0/a", PAGE_BYTES, 2 * PAGE_BYTES)]


def test_pages_that_follow_are_told_together_and_the_last_is_short() -> None:
    source, unreadable = around(range(2 * PAGE_BYTES, len(DATA)))
    buffer = bytearray(len(DATA))

    assert source.read_into("a", buffer, 0) == len(DATA)

    (found,) = unreadable.stretches()
    assert found.cause == "8,192 bytes that the disk cannot read"


def test_what_can_be_read_is_read_as_it_is() -> None:
    source, unreadable = around(range(0))

    assert (source.read("a", 5, 0), source.read_into("a", bytearray(7), 3)) == (b"x" * 5, 7)
    assert (source.list(), source.stat("a").size, source.path) == (["a"], len(DATA), "/t-0")
    assert list(unreadable.stretches()) == []
    source.close()


@pytest.mark.parametrize("call", ("read", "read_into"))
def test_every_other_error_is_one(call: str) -> None:
    files = MemoryFiles()
    files.make_directory("/t-0")
    files.create("/t-0/a").append(DATA)
    files.script.add(Fault(on="pread", code=errno.EACCES))
    source = ReadAround(DirectorySource(files, "/t-0"), Unreadable())

    with pytest.raises(PermissionError):
        source.read("a", 5, 0) if call == "read" else source.read_into("a", bytearray(5), 0)


def test_verify_goes_on_behind_what_cannot_be_read() -> None:
    path = "/d/t-0/00000000000000000017.log"
    files = on_bad_disk(healthy(), path, range(70, 71))

    found = damages(files)

    assert ("17.log", "4,096 bytes that the disk cannot read") in found
    assert {name for name, _ in found} <= {"17.log", "17.index", "17.timeindex"}
    assert notes(files) == []
