"""A directory source limits its open files; the conformance suite tests the port."""

import pytest

from cordwood.storage.files.directory_source import DirectorySource
from cordwood.testing.memory_files import MemoryFiles


def directory(*names: str) -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory("/d")
    for name in names:
        files.create(f"/d/{name}").append(name.encode())
    return files


def test_source_opens_a_file_when_it_is_read() -> None:
    source = DirectorySource(directory("a"), "/d")

    source.list()
    source.stat("a")
    before = source.open_count
    source.read("a", 1, 0)

    assert before == 0
    assert source.open_count == 1


def test_source_closes_the_least_recently_read_file_when_it_is_full() -> None:
    files = directory("a", "b", "c")
    source = DirectorySource(files, "/d", capacity=2)
    for name in ("a", "b", "a", "c"):
        source.read(name, 1, 0)

    for name in ("a", "b"):
        files.remove(f"/d/{name}")

    assert source.open_count == 2
    assert source.read("a", 1, 0) == b"a"
    with pytest.raises(FileNotFoundError):
        source.read("b", 1, 0)


def test_closed_source_has_no_open_files() -> None:
    source = DirectorySource(directory("a", "b"), "/d")
    source.read("a", 1, 0)
    source.read("b", 1, 0)

    source.close()

    assert source.open_count == 0
    assert source.read("a", 1, 0) == b"a"
