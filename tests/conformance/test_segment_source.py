"""Conformance tests of the SegmentSource port over both kinds of files."""

from pathlib import Path
from typing import NamedTuple

import pytest

from cordwood.core.ports import FileKind, Files, SegmentSource
from cordwood.core.system import SystemFiles
from cordwood.core.types import TimestampMs
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.testing.memory_files import MemoryFiles


class Place(NamedTuple):
    """A source, and its owner's access to the same files."""

    source: SegmentSource
    files: Files
    root: str

    def write(self, name: str, data: bytes) -> None:
        self.files.create(f"{self.root}/{name}").append(data)

    def rename(self, name: str, new: str) -> None:
        self.files.rename(f"{self.root}/{name}", f"{self.root}/{new}")


@pytest.fixture(params=["system", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    files: Files = SystemFiles()
    root = str(tmp_path)
    if request.param == "memory":
        files, root = MemoryFiles(), "/t-0"
        files.make_directory(root)
    return Place(DirectorySource(files, root), files, root)


def test_source_lists_current_names_in_order(place: Place) -> None:
    place.write("b", b"")
    before = place.source.list()
    place.write("a", b"")

    assert before == ["b"]
    assert place.source.list() == ["a", "b"]
    assert place.source.path == place.root


def test_source_returns_size_time_and_kind(place: Place) -> None:
    place.write("a", b"xyz")
    place.files.set_modified(f"{place.root}/a", TimestampMs(1_600_000_000_123))
    place.files.make_directory(f"{place.root}/d")

    assert place.source.stat("a") == (3, 1_600_000_000_123, FileKind.FILE)
    assert place.source.stat("d").is_directory


def test_source_reads_ranges_and_fewer_bytes_at_the_end_of_the_file(place: Place) -> None:
    place.write("a", b"0123456789")
    buffer = bytearray(b"....")

    count = place.source.read_into("a", memoryview(buffer)[:3], 8)

    assert [place.source.read("a", 3, at) for at in (0, 4, 8, 10)] == [b"012", b"456", b"89", b""]
    assert count == 2
    assert bytes(buffer) == b"89.."


def test_source_raises_for_a_missing_file(place: Place) -> None:
    for call in (
        lambda: place.source.stat("a"),
        lambda: place.source.read("a", 1, 0),
        lambda: place.source.read_into("a", bytearray(1), 0),
    ):
        with pytest.raises(FileNotFoundError):
            call()


def test_source_raises_for_a_missing_directory(place: Place) -> None:
    place.files.remove_directory(place.root)

    with pytest.raises(FileNotFoundError):
        place.source.list()


def test_source_reads_the_current_bytes_when_a_file_grows_and_is_truncated(place: Place) -> None:
    place.write("a", b"0123")
    first = place.source.read("a", 9, 0)
    file = place.files.open(f"{place.root}/a", writable=True)

    file.append(b"45")
    grown = place.source.read("a", 9, 0)
    file.truncate(1)

    assert first == b"0123"
    assert grown == b"012345"
    assert place.source.read("a", 9, 0) == b"0"
    assert place.source.stat("a").size == 1


@pytest.mark.parametrize("is_removed", (False, True))
def test_source_continues_to_read_one_file_when_its_name_is_removed(
    place: Place, *, is_removed: bool
) -> None:
    place.write("a", b"old")
    place.source.read("a", 1, 0)

    place.rename("a", "a.deleted")
    if is_removed:
        place.files.remove(f"{place.root}/a.deleted")

    assert place.source.read("a", 9, 0) == b"old"
    with pytest.raises(FileNotFoundError):
        place.source.stat("a")
    with pytest.raises(FileNotFoundError):
        place.source.read("a", 9, 0)


def test_source_reads_a_replaced_file_after_stat(place: Place) -> None:
    place.write("a", b"old")
    place.source.read("a", 1, 0)
    place.write("b", b"newer")

    place.rename("b", "a")
    before = place.source.read("a", 9, 0)

    assert before == b"old"
    assert place.source.stat("a").size == 5
    assert place.source.read("a", 9, 0) == b"newer"


def test_closed_source_can_be_read(place: Place) -> None:
    place.write("a", b"abc")
    place.source.read("a", 1, 0)

    place.source.close()
    place.source.close()

    assert place.source.read("a", 9, 1) == b"bc"
