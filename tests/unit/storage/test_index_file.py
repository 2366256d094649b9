"""An index on disk grows in a preallocated file and is cut to its entries when it is done."""

import pytest

from cordwood.storage.file_table import FileTable
from cordwood.storage.index_file import IndexFile
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles

PATH = "/0.index"


def index(
    *, max_bytes: int | None = 67, reserved: int = 0, over: MemoryFiles | None = None
) -> IndexFile:
    table = FileTable(over or MemoryFiles(), 4)
    return IndexFile(table, PATH, entry_size=8, max_bytes=max_bytes, reserved=reserved)


def entries(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8) for number in numbers)


def on_disk(files: MemoryFiles) -> bytes:
    return files.open(PATH).pread(1000, 0)


def grown(files: MemoryFiles, *numbers: int) -> IndexFile:
    one = index(over=files)
    one.append(entries(*numbers))
    return one


def test_index_file_is_empty_and_not_made_before_it_is_used() -> None:
    files = MemoryFiles()
    one = index(over=files)

    assert (one.count, one.size, one.exists, one.held) == (0, 0, False, None)
    assert files.list("/") == []


def test_index_file_is_not_what_has_its_name_and_is_no_file() -> None:
    files = MemoryFiles()
    files.make_directory(PATH)
    one = index(over=files)

    assert (one.count, one.size, one.exists) == (0, 0, False)
    with pytest.raises(FileExistsError):
        one.append(entries(1))
    one.remove()
    assert files.stat(PATH).is_directory


@pytest.mark.parametrize(
    ("limit", "entry_size", "size"), ((500, 8, 496), (500, 12, 492), (67, 8, 64), (67, 12, 60))
)
def test_index_file_is_made_at_its_limit_rounded_down(
    limit: int, entry_size: int, size: int
) -> None:
    files = MemoryFiles()
    one = IndexFile(FileTable(files, 4), PATH, entry_size=entry_size, max_bytes=limit)

    one.make()

    assert on_disk(files) == bytes(size)
    assert (one.size, one.count, one.room) == (size, 0, size // entry_size)


def test_index_file_is_written_and_held_as_it_grows() -> None:
    files = MemoryFiles()

    one = grown(files, 1, 2)
    one.append(entries(3))

    assert on_disk(files) == entries(1, 2, 3) + bytes(40)
    assert one.held == entries(1, 2, 3)
    assert one.read(1, 2) == entries(2, 3)


def test_index_file_is_full_when_only_reserved_entries_fit() -> None:
    one = index(reserved=1)

    one.append(entries(*range(6)))
    was_full = one.is_full
    one.append(entries(6))

    assert (was_full, one.is_full, one.room) == (False, True, 1)


def test_index_file_refuses_more_than_fits_and_parts_of_entries() -> None:
    one = index()

    with pytest.raises(AssertionError, match="is full"):
        one.append(entries(*range(9)))
    with pytest.raises(AssertionError, match="written whole"):
        one.append(b"123")


def test_index_file_is_cut_to_its_entries_and_gives_memory_back() -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2)

    one.trim()
    one.trim()

    assert on_disk(files) == entries(1, 2)
    assert one.held is None
    assert one.read(1, 1) == entries(2)


def test_index_file_is_made_when_it_is_trimmed() -> None:
    files = MemoryFiles()

    index(over=files).trim()

    assert on_disk(files) == b""


def test_index_file_that_exists_is_read_from_disk() -> None:
    files = MemoryFiles()
    grown(files, 1, 2).trim()

    one = index(over=files)

    assert (one.count, one.size, one.exists, one.held) == (2, 16, True, None)
    assert one.read(0, 2) == entries(1, 2)


def test_index_file_grows_on_when_an_exact_one_is_appended_to() -> None:
    files = MemoryFiles()
    grown(files, 1, 2).trim()

    one = grown(files, 3)

    assert one.held == entries(1, 2, 3)
    assert on_disk(files) == entries(1, 2, 3) + bytes(40)


def test_index_file_has_zeros_behind_what_is_left_of_it() -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2, 3)

    one.truncate_to(1)
    one.truncate_to(2)

    assert on_disk(files) == entries(1) + bytes(56)
    assert (one.held, one.count, one.size) == (entries(1), 1, 64)


def test_index_file_that_is_exact_stays_so_when_it_is_cut() -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2, 3)
    one.trim()

    one.truncate_to(1)

    assert on_disk(files) == entries(1)
    assert (one.count, one.size) == (1, 8)


@pytest.mark.parametrize(
    ("limit", "is_changed", "size"),
    ((67, False, 64), (33, True, 32), (134, True, 128), (7, True, 16)),
)
def test_index_file_changes_its_size_and_keeps_its_entries(
    limit: int, *, is_changed: bool, size: int
) -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2)

    assert one.resize(limit) is is_changed

    assert on_disk(files) == entries(1, 2) + bytes(size - 16)
    assert one.is_full is (size == 16)


def test_index_file_takes_a_limit_before_it_is_made() -> None:
    one = index()

    assert one.resize(16) is False

    assert one.room == 2


def test_index_file_is_all_zeros_after_a_reset() -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2)
    one.trim()

    one.reset()

    assert on_disk(files) == bytes(64)
    assert (one.count, one.size, one.held) == (0, 64, b"")


def test_index_file_without_limit_is_as_long_as_its_entries() -> None:
    files = MemoryFiles()
    one = index(max_bytes=None, over=files)

    one.append(entries(1, 2, 3))
    one.truncate_to(2)
    was = on_disk(files)
    one.reset()

    assert was == entries(1, 2)
    assert (on_disk(files), one.is_full, one.size) == (b"", False, 0)


def test_index_file_without_limit_that_exists_goes_on_at_its_end() -> None:
    files = MemoryFiles()
    index(max_bytes=None, over=files).append(entries(1))

    one = index(max_bytes=None, over=files)
    one.append(entries(2))

    assert one.read(0, 2) == entries(1, 2)
    assert one.size == 16


@pytest.mark.parametrize(("limit", "call"), ((67, "pwrite"), (None, "append")))
def test_index_file_has_no_entry_that_could_not_be_written(limit: int | None, call: str) -> None:
    files = MemoryFiles()
    one = index(max_bytes=limit, over=files)
    one.append(entries(1))
    files.script.add(Fault(on=call))

    with pytest.raises(OSError, match="Input/output error"):
        one.append(entries(2))
    one.append(entries(3))

    assert one.count == 2
    assert on_disk(files)[:16] == entries(1, 3)


def test_index_file_is_renamed_moved_and_removed() -> None:
    files = MemoryFiles()
    one = grown(files, 1)
    one.trim()

    one.rename("/0.index.deleted")
    was_read = one.read(0, 1)
    files.rename("/0.index.deleted", "/1.index.deleted")
    one.moved("/1.index.deleted")
    one.remove()

    assert was_read == entries(1)
    assert files.list("/") == []
    assert (one.exists, one.count) == (False, 0)


def test_index_file_that_was_never_made_is_renamed_and_removed() -> None:
    one = index()

    one.rename("/0.index.deleted")
    one.remove()

    assert one.path == "/0.index.deleted"
    assert not one.exists


def test_index_file_without_a_limit_loses_a_part_of_an_entry_when_it_is_truncated() -> None:
    files = MemoryFiles()
    files.create(PATH).append(entries(1) + b"half")
    one = index(max_bytes=None, over=files)

    one.truncate_to(1)
    one.append(entries(2))

    assert on_disk(files) == entries(1, 2)


def test_index_file_is_opened_through_another_table_when_it_is_told() -> None:
    files = MemoryFiles()
    one = grown(files, 1)
    one.trim()
    other = FileTable(files, 4)

    one.use(other)

    assert (one.read(0, 1), other.open_count) == (entries(1), 1)
