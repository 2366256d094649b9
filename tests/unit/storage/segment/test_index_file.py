"""An index file grows in a preallocated file and is trimmed to its entries at the end."""

import pytest

from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.segment.index_file import IndexFile
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles

PATH = "/0.index"


def index(
    *, max_bytes: int | None = 67, reserved: int = 0, over: MemoryFiles | None = None
) -> IndexFile:
    table = OpenFileCache(over or MemoryFiles(), 4)
    return IndexFile(table, PATH, entry_size=8, max_bytes=max_bytes, reserved=reserved)


def entries(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8) for number in numbers)


def on_disk(files: MemoryFiles) -> bytes:
    return files.open(PATH).pread(1000, 0)


def grown(files: MemoryFiles, *numbers: int) -> IndexFile:
    one = index(over=files)
    one.append(entries(*numbers))
    return one


def test_index_file_is_empty_and_not_created_before_its_first_use() -> None:
    files = MemoryFiles()
    one = index(over=files)

    assert one.count == 0
    assert one.size == 0
    assert not one.exists
    assert one.in_memory is None
    assert files.list("/") == []


def test_index_file_does_not_use_a_directory_of_its_name() -> None:
    files = MemoryFiles()
    files.make_directory(PATH)
    one = index(over=files)

    assert one.count == 0
    assert one.size == 0
    assert not one.exists
    with pytest.raises(FileExistsError):
        one.append(entries(1))
    one.remove()
    assert files.stat(PATH).is_directory


@pytest.mark.parametrize(
    ("limit", "entry_size", "size"), ((500, 8, 496), (500, 12, 492), (67, 8, 64), (67, 12, 60))
)
def test_index_file_is_created_at_its_limit_rounded_down(
    limit: int, entry_size: int, size: int
) -> None:
    files = MemoryFiles()
    one = IndexFile(OpenFileCache(files, 4), PATH, entry_size=entry_size, max_bytes=limit)

    one.create()

    assert on_disk(files) == bytes(size)
    assert one.size == size
    assert one.count == 0
    assert one.room == size // entry_size


def test_index_file_is_written_and_kept_in_memory_while_it_grows() -> None:
    files = MemoryFiles()

    one = grown(files, 1, 2)
    one.append(entries(3))

    assert on_disk(files) == entries(1, 2, 3) + bytes(40)
    assert one.in_memory == entries(1, 2, 3)
    assert one.read(1, 2) == entries(2, 3)


def test_index_file_is_full_when_only_reserved_entries_fit() -> None:
    one = index(reserved=1)

    one.append(entries(*range(6)))
    was_full = one.is_full
    one.append(entries(6))

    assert not was_full
    assert one.is_full
    assert one.room == 1


def test_index_file_rejects_too_many_and_partial_entries() -> None:
    one = index()

    with pytest.raises(AssertionError, match="is full"):
        one.append(entries(*range(9)))
    with pytest.raises(AssertionError, match="written whole"):
        one.append(b"123")


def test_index_file_is_trimmed_to_its_entries_and_releases_memory() -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2)

    one.trim()
    one.trim()

    assert on_disk(files) == entries(1, 2)
    assert one.in_memory is None
    assert one.read(1, 1) == entries(2)


def test_index_file_is_created_when_it_is_trimmed() -> None:
    files = MemoryFiles()

    index(over=files).trim()

    assert on_disk(files) == b""


def test_index_file_that_exists_is_read_from_disk() -> None:
    files = MemoryFiles()
    grown(files, 1, 2).trim()

    one = index(over=files)

    assert one.count == 2
    assert one.size == 16
    assert one.exists
    assert one.in_memory is None
    assert one.read(0, 2) == entries(1, 2)


def test_index_file_grows_again_after_an_append_to_a_trimmed_one() -> None:
    files = MemoryFiles()
    grown(files, 1, 2).trim()

    one = grown(files, 3)

    assert one.in_memory == entries(1, 2, 3)
    assert on_disk(files) == entries(1, 2, 3) + bytes(40)


def test_index_file_has_zeros_after_a_truncation() -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2, 3)

    one.truncate_to(1)
    one.truncate_to(2)

    assert on_disk(files) == entries(1) + bytes(56)
    assert one.in_memory == entries(1)
    assert one.count == 1
    assert one.size == 64


def test_index_file_that_is_trimmed_stays_so_when_it_is_truncated() -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2, 3)
    one.trim()

    one.truncate_to(1)

    assert on_disk(files) == entries(1)
    assert one.count == 1
    assert one.size == 8


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


def test_index_file_accepts_a_limit_before_it_is_created() -> None:
    one = index()

    assert one.resize(16) is False

    assert one.room == 2


def test_index_file_is_all_zeros_after_a_reset() -> None:
    files = MemoryFiles()
    one = grown(files, 1, 2)
    one.trim()

    one.reset()

    assert on_disk(files) == bytes(64)
    assert one.count == 0
    assert one.size == 64
    assert one.in_memory == b""


def test_index_file_without_limit_is_as_long_as_its_entries() -> None:
    files = MemoryFiles()
    one = index(max_bytes=None, over=files)

    one.append(entries(1, 2, 3))
    one.truncate_to(2)
    was = on_disk(files)
    one.reset()

    assert was == entries(1, 2)
    assert on_disk(files) == b""
    assert not one.is_full
    assert one.size == 0


def test_index_file_without_limit_that_exists_continues_at_its_end() -> None:
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
    files.script.add(FileFault(on=call))

    with pytest.raises(OSError, match="Input/output error"):
        one.append(entries(2))
    one.append(entries(3))

    assert one.count == 2
    assert on_disk(files)[:16] == entries(1, 3)


def test_index_file_is_renamed_and_removed() -> None:
    files = MemoryFiles()
    one = grown(files, 1)
    one.trim()

    one.rename("/0.index.deleted")
    was_read = one.read(0, 1)
    files.rename("/0.index.deleted", "/1.index.deleted")
    one.set_path("/1.index.deleted")
    one.remove()

    assert was_read == entries(1)
    assert files.list("/") == []
    assert not one.exists
    assert one.count == 0


def test_index_file_that_was_never_created_is_renamed_and_removed() -> None:
    one = index()

    one.rename("/0.index.deleted")
    one.remove()

    assert one.path == "/0.index.deleted"
    assert not one.exists


def test_index_file_without_a_limit_loses_a_partial_entry_when_it_is_truncated() -> None:
    files = MemoryFiles()
    files.create(PATH).append(entries(1) + b"half")
    one = index(max_bytes=None, over=files)

    one.truncate_to(1)
    one.append(entries(2))

    assert on_disk(files) == entries(1, 2)


def test_index_file_is_opened_through_another_cache() -> None:
    files = MemoryFiles()
    one = grown(files, 1)
    one.trim()
    other = OpenFileCache(files, 4)

    one.use_cache(other)

    assert one.read(0, 1) == entries(1)
    assert other.open_count == 1
