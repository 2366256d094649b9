"""A small file has its old or its new content after a crash at any point."""

import errno

import pytest

from cordwood.storage.files.atomic_write import (
    directory_of,
    exists,
    is_file,
    read_whole,
    write_atomically,
    write_synced,
)
from cordwood.testing.file_faults import FileFault, PowerLoss
from cordwood.testing.memory_files import MemoryFiles


def files_with(data: bytes) -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory("/logs")
    files.sync_directory("/")
    write_atomically(files, "/logs/a", data=data)
    return files


def test_file_is_read_whole() -> None:
    assert read_whole(files_with(b"data"), "/logs/a") == b"data"


def test_path_exists_when_a_file_or_a_directory_is_there() -> None:
    files = files_with(b"data")

    assert exists(files, "/logs/a")
    assert exists(files, "/logs")
    assert not exists(files, "/logs/b")


def test_missing_file_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        read_whole(MemoryFiles(), "/a")


def test_replaced_file_survives_a_crash_when_the_write_has_returned() -> None:
    files = files_with(b"old")

    write_atomically(files, "/logs/a", data=b"new")
    files.crash()

    assert files.list("/logs") == ["a"]
    assert read_whole(files, "/logs/a") == b"new"


@pytest.mark.parametrize("write_points", range(5))
@pytest.mark.parametrize("kept", range(5))
def test_replaced_file_is_old_or_new_after_a_power_failure(write_points: int, kept: int) -> None:
    files = files_with(b"old")
    files.script.stop_after(write_points)

    with pytest.raises(PowerLoss):
        write_atomically(files, "/logs/a", data=b"new")
    files.crash(keep=range(min(kept, len(files.pending()))))

    assert read_whole(files, "/logs/a") in {b"old", b"new"}


def test_leftover_of_a_crash_is_written_over() -> None:
    files = files_with(b"old")
    files.create("/logs/a.tmp").append(b"half of something longer")

    write_atomically(files, "/logs/a", data=b"new")

    assert read_whole(files, "/logs/a") == b"new"


@pytest.mark.parametrize("call", ("append", "sync", "rename", "truncate"))
def test_old_file_stays_when_the_new_one_cannot_be_written(call: str) -> None:
    files = files_with(b"old")
    files.create("/logs/a.tmp")
    files.script.add(FileFault(on=call, code=errno.EIO))

    with pytest.raises(OSError, match="Input/output"):
        write_atomically(files, "/logs/a", data=b"new")

    assert read_whole(files, "/logs/a") == b"old"


def test_file_in_place_has_durable_bytes() -> None:
    files = files_with(b"older than new")

    write_synced(files, "/logs/a", data=b"new")
    files.crash()

    assert read_whole(files, "/logs/a") == b"new"


@pytest.mark.parametrize(("path", "directory"), (("/a/b/c", "/a/b"), ("/a", "/")))
def test_directory_of_a_path(path: str, directory: str) -> None:
    assert directory_of(path) == directory


def test_file_is_distinguished_from_a_directory() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.create("/f")

    assert [is_file(files, path) for path in ("/d", "/f", "/x")] == [False, True, False]
