"""The table of open files closes what was used longest ago, and never what is pinned."""

import pytest

from cordwood.core.ports import OpenFile
from cordwood.storage.file_table import FileTable
from cordwood.testing.files import MemoryFiles


def table(*names: str, capacity: int = 2) -> FileTable:
    files = MemoryFiles()
    for name in names:
        files.create(name).append(name.encode())
    return FileTable(files, capacity)


def is_open(file: OpenFile) -> bool:
    try:
        file.pread(1, 0)
    except OSError:
        return False
    return True


def test_table_knows_files_from_what_only_has_a_name() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.create("/f")
    table = FileTable(files, 1)

    assert [table.exists(path) for path in ("/d", "/f", "/x")] == [True, True, False]
    assert [table.is_file(path) for path in ("/d", "/f", "/x")] == [False, True, False]


def test_table_keeps_a_file_open_between_uses() -> None:
    files = table("/a")

    assert files.opened("/a") is files.opened("/a")
    assert files.open_count == 1


def test_table_closes_the_file_used_longest_ago_when_it_is_full() -> None:
    files = table("/a", "/b", "/c")
    a, b = files.opened("/a"), files.opened("/b")

    files.opened("/a")
    files.opened("/c")

    assert (is_open(a), is_open(b)) == (True, False)
    assert files.open_count == 2


def test_table_opens_a_file_anew_when_it_is_to_be_written() -> None:
    files = table("/a")
    reading = files.opened("/a")

    writing = files.opened("/a", writable=True)
    writing.append(b"more")

    assert not is_open(reading)
    assert files.opened("/a") is writing


def test_table_makes_files_and_sees_them() -> None:
    files = table()

    files.create("/new").append(b"x")

    assert files.exists("/new")
    assert not files.exists("/other")
    assert files.opened("/new", writable=True).size == 1


def test_table_does_not_close_pinned_files_when_it_is_full() -> None:
    files = table("/a", "/b", "/c")
    a, b = files.pin("/a"), files.pin("/b")

    c = files.opened("/c")

    assert all(map(is_open, (a, b, c)))
    assert files.open_count == 3


def test_table_makes_room_again_when_a_pin_is_taken_back() -> None:
    files = table("/a", "/b", "/c")
    a, b = files.pin("/a"), files.pin("/b")
    files.pin("/a")
    files.opened("/c")

    files.unpin(a)
    files.unpin(b)

    assert (is_open(a), is_open(b)) == (True, False)
    assert files.open_count == 2


def test_table_closes_a_forgotten_file_when_its_last_pin_is_taken_back() -> None:
    files = table("/a")
    pinned = files.pin("/a")

    files.forget("/a")

    assert is_open(pinned)
    assert files.opened("/a") is not pinned
    assert files.open_count == 2
    files.unpin(pinned)
    assert not is_open(pinned)


def test_table_finds_an_open_file_by_its_new_name() -> None:
    files = table("/a", "/b")
    a, b = files.opened("/a"), files.opened("/b")

    files.rename("/a", "/b")

    assert files.opened("/b") is a
    assert not is_open(b)
    assert not files.exists("/a")


def test_table_renames_what_is_not_open() -> None:
    files = table("/a")

    files.rename("/a", "/b")

    assert files.opened("/b").pread(9, 0) == b"/a"


def test_table_does_not_find_what_was_removed() -> None:
    files = table("/a")
    file = files.opened("/a")

    files.remove("/a")

    assert not is_open(file)
    with pytest.raises(FileNotFoundError):
        files.opened("/a")


def test_table_forgets_the_files_of_one_directory() -> None:
    files = table("/a", capacity=5)
    files.files.make_directory("/d")
    inside, beside = files.create("/d/x"), files.opened("/a")

    files.forget_under("/d")

    assert (is_open(inside), is_open(beside)) == (False, True)


def test_table_closes_everything() -> None:
    files = table("/a", "/b")
    opened = [files.opened("/a"), files.opened("/b")]

    files.close()

    assert not any(map(is_open, opened))
    assert files.open_count == 0


def test_table_lets_a_slice_outlive_its_file() -> None:
    files = table("/a", "/b", capacity=1)
    part = files.opened("/a").slice(0, 2)

    files.opened("/b")

    assert bytes(part.read()) == b"/a"
