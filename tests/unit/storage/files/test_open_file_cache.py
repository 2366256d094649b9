"""The open file cache closes the least recently used file, never a pinned one."""

import errno

import pytest

from cordwood.core.ports import OpenFile
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles


def cache_of(*names: str, capacity: int = 2) -> OpenFileCache:
    return OpenFileCache(files_of(*names), capacity)


def files_of(*names: str) -> MemoryFiles:
    files = MemoryFiles()
    for name in names:
        files.create(name).append(name.encode())
    return files


def is_open(file: OpenFile) -> bool:
    try:
        file.pread(1, 0)
    except OSError:
        return False
    return True


def test_cache_finds_files_and_directories() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.create("/f")
    cache = OpenFileCache(files, 1)

    assert [cache.exists(path) for path in ("/d", "/f", "/x")] == [True, True, False]


def test_cache_keeps_a_file_open_between_uses() -> None:
    files = cache_of("/a")

    assert files.open("/a") is files.open("/a")
    assert files.open_count == 1


def test_cache_closes_the_least_recently_used_file_when_it_is_full() -> None:
    files = cache_of("/a", "/b", "/c")
    a, b = files.open("/a"), files.open("/b")

    files.open("/a")
    files.open("/c")

    assert is_open(a)
    assert not is_open(b)
    assert files.open_count == 2


def test_cache_reopens_a_file_for_writing() -> None:
    files = cache_of("/a")
    reading = files.open("/a")

    writing = files.open("/a", writable=True)
    writing.append(b"more")

    assert not is_open(reading)
    assert files.open("/a") is writing


def test_cache_creates_files() -> None:
    files = cache_of()

    files.create("/new").append(b"x")

    assert files.exists("/new")
    assert not files.exists("/other")
    assert files.open("/new", writable=True).size == 1


def test_cache_does_not_close_pinned_files_when_it_is_full() -> None:
    files = cache_of("/a", "/b", "/c")
    a, b = files.pin("/a"), files.pin("/b")

    c = files.open("/c")

    assert all(map(is_open, (a, b, c)))
    assert files.open_count == 3


def test_cache_closes_files_above_its_capacity_when_a_pin_is_released() -> None:
    files = cache_of("/a", "/b", "/c")
    a, b = files.pin("/a"), files.pin("/b")
    files.pin("/a")
    files.open("/c")

    files.unpin(a)
    files.unpin(b)

    assert is_open(a)
    assert not is_open(b)
    assert files.open_count == 2


def test_cache_closes_a_dropped_file_when_its_last_pin_is_released() -> None:
    files = cache_of("/a")
    pinned = files.pin("/a")

    files.forget("/a")

    assert is_open(pinned)
    assert files.open("/a") is not pinned
    assert files.open_count == 2
    files.unpin(pinned)
    assert not is_open(pinned)


def test_cache_finds_an_open_file_by_its_new_name() -> None:
    files = cache_of("/a", "/b")
    a, b = files.open("/a"), files.open("/b")

    files.rename("/a", "/b")

    assert files.open("/b") is a
    assert not is_open(b)
    assert not files.exists("/a")


def test_cache_renames_files_that_are_not_open() -> None:
    files = cache_of("/a")

    files.rename("/a", "/b")

    assert files.open("/b").pread(9, 0) == b"/a"


def test_cache_does_not_find_a_removed_file() -> None:
    files = cache_of("/a")
    file = files.open("/a")

    files.remove("/a")

    assert not is_open(file)
    with pytest.raises(FileNotFoundError):
        files.open("/a")


def test_cache_drops_the_files_of_one_directory() -> None:
    files = cache_of("/a", capacity=5)
    files.files.make_directory("/d")
    inside, beside = files.create("/d/x"), files.open("/a")

    files.forget_under("/d")

    assert not is_open(inside)
    assert is_open(beside)


def test_cache_drops_the_other_files_of_a_directory_after_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = cache_of("/a", capacity=5)
    files.files.make_directory("/d")
    first, second = files.create("/d/x"), files.create("/d/y")

    def refuse() -> None:
        raise OSError(errno.EIO, "close")

    monkeypatch.setattr(first, "close", refuse)
    with pytest.raises(OSError, match="close"):
        files.forget_under("/d")

    assert not is_open(second)
    assert files.open_count == 0


def test_cache_closes_everything() -> None:
    files = cache_of("/a", "/b")
    opened = [files.open("/a"), files.open("/b")]

    files.close()

    assert not any(map(is_open, opened))
    assert files.open_count == 0


def test_slice_is_readable_after_its_file_is_closed() -> None:
    files = cache_of("/a", "/b", capacity=1)
    part = files.open("/a").slice(0, 2)

    files.open("/b")

    assert bytes(part.read()) == b"/a"


@pytest.mark.parametrize("code", (errno.EMFILE, errno.ENFILE))
@pytest.mark.parametrize("call", ("open", "create"))
def test_cache_closes_idle_files_without_a_free_descriptor(call: str, code: int) -> None:
    files = files_of("/a", "/b", "/c", "/d")
    cache = OpenFileCache(files, 10)
    pinned, *idle = cache.pin("/a"), cache.open("/b"), cache.open("/c"), cache.open("/d")

    files.script.add(FileFault(on=call, path="/e", times=2, code=code))
    if call == "open":
        files.create("/e.new")
        files.rename("/e.new", "/e")
    opened = cache.create("/e") if call == "create" else cache.open("/e")

    assert is_open(pinned)
    assert [is_open(each) for each in idle] == [False, False, False]
    assert opened.append(b"e") == 0 if call == "create" else opened.size == 0


def test_cache_raises_without_a_free_descriptor_and_without_idle_files() -> None:
    files = files_of("/a", "/b")
    cache = OpenFileCache(files, 10)
    pinned = cache.pin("/a")
    files.script.add(FileFault(on="open", path="/b", code=errno.EMFILE))

    with pytest.raises(OSError, match="open files"):
        cache.open("/b")

    assert is_open(pinned)
    assert cache.open("/b").size == 2


def test_cache_keeps_its_idle_files_at_another_error() -> None:
    files = files_of("/a", "/b")
    cache = OpenFileCache(files, 10)
    idle = cache.open("/a")
    files.script.add(FileFault(on="open", path="/b", code=errno.EIO))

    with pytest.raises(OSError, match="error"):
        cache.open("/b")

    assert is_open(idle)
