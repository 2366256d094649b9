"""Unreadable pages are read as zeros and reported."""

import errno

import pytest

from cordwood.storage.files.directory_source import DirectorySource
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.unreadable_ranges import (
    PAGE_BYTES,
    UnreadablePages,
    UnreadableRange,
    ZeroFillingSource,
)
from tests.unit.workbench.bad_disk import on_bad_disk
from tests.unit.workbench.verified import damages, healthy, notes

DATA = b"x" * (4 * PAGE_BYTES - 100)


def around(bad: range) -> tuple[ZeroFillingSource, UnreadablePages]:
    files = MemoryFiles()
    files.make_directory("/t-0")
    files.create("/t-0/a").append(DATA)
    unreadable = UnreadablePages()
    return ZeroFillingSource(
        DirectorySource(on_bad_disk(files, "/t-0/a", bad), "/t-0"), unreadable
    ), (unreadable)


@pytest.mark.parametrize("position", (0, 10, PAGE_BYTES))
def test_page_that_cannot_be_read_is_zeros(position: int) -> None:
    source, unreadable = around(range(PAGE_BYTES + 7, PAGE_BYTES + 8))

    found = source.read("a", len(DATA), position)

    expected = bytearray(DATA)
    expected[PAGE_BYTES : 2 * PAGE_BYTES] = bytes(PAGE_BYTES)
    assert found == expected[position:]
    assert list(unreadable.ranges()) == [UnreadableRange("/t-0/a", PAGE_BYTES, 2 * PAGE_BYTES)]


def test_adjacent_pages_are_one_range_and_the_last_is_short() -> None:
    source, unreadable = around(range(2 * PAGE_BYTES, len(DATA)))
    buffer = bytearray(len(DATA))

    assert source.read_into("a", buffer, 0) == len(DATA)

    (found,) = unreadable.ranges()
    assert found.cause == "8,192 bytes that the disk cannot read"


def test_readable_pages_are_read_unchanged() -> None:
    source, unreadable = around(range(0))

    assert (source.read("a", 5, 0), source.read_into("a", bytearray(7), 3)) == (b"x" * 5, 7)
    assert (source.list(), source.stat("a").size, source.path) == (["a"], len(DATA), "/t-0")
    assert list(unreadable.ranges()) == []
    source.close()


@pytest.mark.parametrize("call", ("read", "read_into"))
def test_other_errors_propagate(call: str) -> None:
    files = MemoryFiles()
    files.make_directory("/t-0")
    files.create("/t-0/a").append(DATA)
    files.script.add(FileFault(on="pread", code=errno.EACCES))
    source = ZeroFillingSource(DirectorySource(files, "/t-0"), UnreadablePages())

    with pytest.raises(PermissionError):
        source.read("a", 5, 0) if call == "read" else source.read_into("a", bytearray(5), 0)


def test_verify_continues_behind_unreadable_pages() -> None:
    path = "/d/t-0/00000000000000000017.log"
    files = on_bad_disk(healthy(), path, range(70, 71))

    found = damages(files)

    assert ("17.log", "4,096 bytes that the disk cannot read") in found
    assert {name for name, _ in found} <= {"17.log", "17.index", "17.timeindex"}
    assert notes(files) == []
