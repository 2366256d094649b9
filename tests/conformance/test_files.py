"""Conformance tests of the Files port, for the operating system and the file system in memory."""

import errno
from contextlib import closing
from pathlib import Path

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import FileKind, Files
from cordwood.core.system import SystemFiles
from cordwood.core.types import TimestampMs
from cordwood.testing.memory_files import MemoryFiles


@pytest.fixture(params=["system", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Files, str]:
    if request.param == "system":
        return SystemFiles(), str(tmp_path)
    files = MemoryFiles()
    files.make_directory("/logs")
    return files, "/logs"


def test_append_returns_the_position_of_the_bytes(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")

    positions = [file.append(b"one"), file.append(memoryview(b"two"))]

    assert positions == [0, 3]
    assert file.size == 6
    assert file.pread(4, 1) == b"netw"
    assert file.pread(9, 4) == b"wo"
    assert file.pread(5, 6) == b""
    assert file.path == f"{root}/a"


def test_pread_into_returns_the_number_of_bytes_read(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")
    file.append(b"12345")
    buffer = bytearray(4)

    counts = [file.pread_into(buffer, 0), file.pread_into(memoryview(buffer)[:3], 3)]

    assert counts == [4, 2]
    assert buffer == b"4534"


def test_pwrite_fills_the_gap_with_zeros(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")

    file.pwrite(b"x", 3)
    file.pwrite(b"y", 1)

    assert file.pread(9, 0) == b"\0y\0x"


def test_file_grows_by_preallocation_and_shrinks_by_truncation(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")

    file.preallocate(8)
    file.preallocate(4)
    grown = file.size
    file.truncate(2)

    assert grown == 8
    assert file.pread(9, 0) == b"\0\0"
    with pytest.raises(ValueError, match="cannot be truncated to 3"):
        file.truncate(3)


def test_slice_holds_the_file_open_when_it_is_closed(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")
    file.append(b"0123456789")

    part = file.slice(2, 3)
    file.close()
    file.close()

    assert part.position == 2
    assert part.length == 3
    assert bytes(part.read()) == b"234"
    assert part.descriptor is None or part.descriptor >= 0
    part.release()
    part.release()
    with pytest.raises(ValueError, match="released"):
        part.read()


def test_slice_reads_any_part_of_its_range(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")
    file.append(b"0123456789")
    part = file.slice(2, 6)

    parts = [bytes(part.read(*each)) for each in ((), (1,), (1, 2), (4, 2))]
    cached = bytes(part.read_cached(1, 4))

    assert parts == [b"234567", b"34567", b"34", b"67"]
    assert b"3456".startswith(cached)
    part.release()
    file.close()


def test_error_of_a_slice_has_the_name_of_its_file(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")
    part = file.slice(0, 0)

    failure = part.fail(OSError(errno.EIO, "Input/output error"))

    assert isinstance(failure, KafkaStorageError)
    assert f"{root}/a: Input/output error" in str(failure)
    part.release()
    file.close()


@pytest.mark.parametrize("slices", (0, 1))
def test_closed_file_rejects_calls(place: tuple[Files, str], slices: int) -> None:
    files, root = place
    file = files.create(f"{root}/a")
    held = [file.slice(0, 0) for _ in range(slices)]
    file.close()

    with pytest.raises(OSError, match="Bad file descriptor"):
        file.pread(1, 0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        _ = file.size
    assert [bytes(part.read()) for part in held] == [b""] * slices


def test_file_opened_for_reading_rejects_writes(place: tuple[Files, str]) -> None:
    files, root = place
    files.create(f"{root}/a").append(b"x")
    file = files.open(f"{root}/a")

    for write in (lambda: file.pwrite(b"y", 0), lambda: file.append(b"y")):
        with pytest.raises(OSError, match="Bad file descriptor") as refused:
            write()
        assert refused.value.filename == f"{root}/a"
    assert files.open(f"{root}/a", writable=True).append(b"y") == 1


def test_map_outlives_the_file(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")
    empty = file.map()
    file.append(b"abc")

    view = file.map()
    file.close()

    assert bytes(view) == b"abc"
    assert view.readonly
    assert bytes(empty) == b""


def test_create_and_open_reject_paths_of_another_kind(place: tuple[Files, str]) -> None:
    files, root = place
    files.create(f"{root}/a")

    with pytest.raises(FileExistsError):
        files.create(f"{root}/a")
    with pytest.raises(FileNotFoundError):
        files.open(f"{root}/b")
    with pytest.raises(FileNotFoundError):
        files.stat(f"{root}/b")
    with pytest.raises(NotADirectoryError):
        files.create(f"{root}/a/b")
    with pytest.raises(IsADirectoryError):
        files.open(root)


def test_rename_replaces_a_file(place: tuple[Files, str]) -> None:
    files, root = place
    files.create(f"{root}/old").append(b"old")
    held = files.create(f"{root}/new")
    held.append(b"new")

    files.rename(f"{root}/old", f"{root}/new")

    assert files.list(root) == ["new"]
    assert files.open(f"{root}/new").pread(9, 0) == b"old"
    assert held.pread(9, 0) == b"new"


def test_rename_rejects_a_target_of_another_kind(place: tuple[Files, str]) -> None:
    files, root = place
    files.make_directory(f"{root}/full")
    files.create(f"{root}/full/a")
    files.make_directory(f"{root}/other")
    files.create(f"{root}/file")

    for source, target in (("other", "full"), ("file", "full"), ("other", "file")):
        with pytest.raises(OSError, match=r"not empty|Is a directory|Not a directory"):
            files.rename(f"{root}/{source}", f"{root}/{target}")

    assert files.list(root) == ["file", "full", "other"]


def test_directories_are_created_listed_and_removed_when_empty(place: tuple[Files, str]) -> None:
    files, root = place
    files.make_directory(f"{root}/d")
    files.create(f"{root}/d/b")
    files.create(f"{root}/d/a")

    with pytest.raises(FileExistsError):
        files.make_directory(f"{root}/d")
    with pytest.raises(OSError, match="not empty"):
        files.remove_directory(f"{root}/d")
    assert files.list(f"{root}/d") == ["a", "b"]
    files.remove(f"{root}/d/a")
    files.remove(f"{root}/d/b")
    files.remove_directory(f"{root}/d")
    assert files.list(root) == []


def test_names_are_listed_by_the_kind_of_their_target(place: tuple[Files, str]) -> None:
    files, root = place
    files.make_directory(f"{root}/d")
    files.create(f"{root}/b")
    files.create(f"{root}/a")

    assert files.list(root, FileKind.FILE) == ["a", "b"]
    assert files.list(root, FileKind.DIRECTORY) == ["d"]


def test_name_that_is_too_long_is_rejected(place: tuple[Files, str]) -> None:
    files, root = place
    files.create(f"{root}/{'x' * 255}")
    path = f"{root}/{'x' * 256}"

    for call in (files.create, files.open, files.make_directory, files.stat, files.remove):
        with pytest.raises(OSError, match="name too long"):
            call(path)
    with pytest.raises(OSError, match="name too long"):
        files.rename(f"{root}/{'x' * 255}", path)


def test_directory_is_not_opened_as_a_file(place: tuple[Files, str]) -> None:
    files, root = place
    files.make_directory(f"{root}/d")

    for is_writable in (False, True):
        with pytest.raises(IsADirectoryError):
            files.open(f"{root}/d", writable=is_writable)


def test_stat_returns_size_time_and_kind(place: tuple[Files, str]) -> None:
    files, root = place
    files.create(f"{root}/a").append(b"xyz")

    files.set_modified(f"{root}/a", TimestampMs(1_600_000_000_123))

    assert files.stat(f"{root}/a") == (3, 1_600_000_000_123, FileKind.FILE)
    assert files.stat(root).is_directory


def test_volume_of_a_path_has_free_space_within_its_size(place: tuple[Files, str]) -> None:
    files, root = place
    files.create(f"{root}/a")

    volumes = [files.volume(root), files.volume(f"{root}/a")]

    assert volumes[0].total_bytes == volumes[1].total_bytes
    assert all(0 <= each.usable_bytes <= each.total_bytes for each in volumes)
    with pytest.raises(FileNotFoundError):
        files.volume(f"{root}/b")


def test_sync_of_file_and_directory_returns(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")
    file.append(b"x")

    file.sync()
    files.sync_directory(root)

    with pytest.raises(OSError, match="directory"):
        files.sync_directory(f"{root}/a")


def test_lock_excludes_other_owners_until_released(place: tuple[Files, str]) -> None:
    files, root = place
    lock = files.lock(f"{root}/.lock")

    with pytest.raises(BlockingIOError):
        files.lock(f"{root}/.lock")
    lock.release()
    lock.release()
    files.lock(f"{root}/.lock").release()

    assert files.list(root) == [".lock"]


def test_file_rejects_negative_numbers(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.create(f"{root}/a")
    file.append(b"abc")

    for call in (
        lambda: file.pread(1, -1),
        lambda: file.pwrite(b"x", -1),
        lambda: file.truncate(-1),
    ):
        with pytest.raises(OSError, match="Invalid argument"):
            call()

    assert file.pread(9, 0) == b"abc"


def test_rename_rejects_a_target_inside_the_directory(place: tuple[Files, str]) -> None:
    files, root = place
    files.make_directory(f"{root}/d")

    with pytest.raises(OSError, match="Invalid argument"):
        files.rename(f"{root}/d", f"{root}/d/e")

    assert files.list(root) == ["d"]


def test_private_file_is_open_to_this_user(place: tuple[Files, str]) -> None:
    files, root = place
    with closing(files.create(f"{root}/a", is_private=True)) as file:
        file.append(b"secret")

    files.make_private(f"{root}/a")

    with closing(files.open(f"{root}/a")) as file:
        assert file.pread(9, 0) == b"secret"
    with pytest.raises(FileNotFoundError):
        files.make_private(f"{root}/missing")
