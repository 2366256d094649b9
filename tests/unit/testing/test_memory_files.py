"""The file system in memory: crashes, selected survivors and faults."""

import errno
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from cordwood.testing.disk_model import TornWrite
from cordwood.testing.file_faults import FileFault, PowerLoss
from cordwood.testing.memory_files import MemoryFiles


def _synced_file(data: bytes) -> MemoryFiles:
    files = MemoryFiles()
    file = files.create("/a")
    file.append(data)
    file.sync()
    files.sync_directory("/")
    return files


def _calls_of(action: Callable[[], None]) -> int:
    """Return the number of functions of cordwood that an action calls.

    A garbage collection can begin in any action and calls what test libraries have registered
    in `gc.callbacks`: those calls are not the action's.
    """
    names = list[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_globals["__name__"].startswith("cordwood."):
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return len(names)


def _calls_of_a_first_append(*, others: int) -> int:
    """Return the calls of a first append next to other logs whose operations are pending."""
    files = MemoryFiles()
    for name in ("own", *map(str, range(others))):
        files.make_directory(f"/{name}")
    for number in range(others):
        files.create(f"/{number}/log").append(b"unsynced")

    def append() -> None:
        file = files.create("/own/log")
        file.append(b"first")
        file.sync()
        files.sync_directory("/own")

    return _calls_of(append)


def test_first_append_costs_the_same_with_many_other_logs() -> None:
    assert _calls_of_a_first_append(others=200) == _calls_of_a_first_append(others=1)


def test_crash_keeps_synced_data_and_loses_the_rest() -> None:
    files = _synced_file(b"safe")
    files.open("/a", writable=True).append(b"lost")
    files.create("/b").sync()

    files.crash()

    assert files.list("/") == ["a"]
    assert files.open("/a").pread(99, 0) == b"safe"


def test_end_of_a_process_keeps_unsynced_data_until_a_crash() -> None:
    files = _synced_file(b"safe")
    lock = files.lock("/lock")
    file = files.open("/a", writable=True)
    file.append(b" for now")

    files.end_process()

    with pytest.raises(OSError, match="/a"):
        file.append(b"late")
    files.lock("/lock")
    assert files.open("/a").pread(99, 0) == b"safe for now"
    lock.release()
    files.crash()
    assert files.open("/a").pread(99, 0) == b"safe"


def test_crash_keeps_chosen_operations_and_tears_writes() -> None:
    files = _synced_file(b"safe")
    file = files.open("/a", writable=True)
    file.append(b"one")
    file.append(b"two")
    files.rename("/a", "/b")

    pending, writes = files.pending(), files.pending_writes()
    files.crash(keep=[1, 2], torn={1: TornWrite(2)})

    assert pending[1:] == ("write 3 bytes at 7 of /a", "rename /a -> /b")
    assert writes == {0: range(4, 7), 1: range(7, 10)}
    assert files.open("/b").pread(99, 0) == b"safe\0\0\0tw"


def test_crash_loses_a_directory_whose_name_was_not_synced() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.create("/d/a").sync()
    files.sync_directory("/d")

    files.crash()

    assert files.list("/") == []


def test_crash_keeps_a_whole_tree_when_all_was_synced() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.create("/d/a")
    files.sync_directory("/d")
    files.sync_directory("/")

    files.crash()

    assert files.list("/d") == ["a"]


def test_crash_restores_files_removed_without_sync() -> None:
    files = _synced_file(b"safe")
    files.remove("/a")

    files.crash()

    assert files.list("/") == ["a"]


def test_crash_ends_open_files_and_locks() -> None:
    files = _synced_file(b"safe")
    file = files.open("/a")
    files.lock("/.lock")

    files.crash()

    with pytest.raises(OSError, match="Bad file descriptor"):
        file.pread(1, 0)
    files.lock("/.lock")


def test_torn_append_keeps_its_kept_bytes() -> None:
    files = _synced_file(b"safe")
    files.script.add(FileFault(on="append", path="/a", kept=2))

    with pytest.raises(OSError, match="Input/output"):
        files.open("/a", writable=True).append(b"torn")

    assert files.open("/a").pread(99, 0) == b"safeto"


def test_append_is_rejected_whole_until_there_is_space() -> None:
    files = _synced_file(b"safe")
    file = files.open("/a", writable=True)
    files.capacity_bytes = 6

    with pytest.raises(OSError, match="No space") as caught:
        file.append(b"more")
    files.capacity_bytes = 8

    assert caught.value.errno == errno.ENOSPC
    assert file.append(b"more") == 4


def test_power_loss_stops_everything_until_the_crash() -> None:
    files = _synced_file(b"safe")
    file = files.open("/a", writable=True)
    files.script.stop_after(1)

    file.append(b"x")
    with pytest.raises(PowerLoss):
        file.sync()
    with pytest.raises(PowerLoss):
        files.list("/")
    files.crash()

    assert files.open("/a").size == 4


def test_directory_and_file_are_distinguished() -> None:
    files = MemoryFiles()
    files.make_directory("/d")

    with pytest.raises(IsADirectoryError):
        files.open("/d")
    with pytest.raises(FileNotFoundError):
        files.list("/none")
    with pytest.raises(NotADirectoryError):
        MemoryFiles.list(_synced_file(b""), "/a/b")


def test_crash_never_moves_a_name_to_another_file() -> None:
    files = _synced_file(b"first")
    files.remove("/a")
    files.create("/a").append(b"second")
    files.rename("/a", "/b")

    renamed = next(i for i, text in enumerate(files.pending()) if text.startswith("rename"))
    files.crash(keep=[renamed])

    assert files.list("/") == ["a"]
    assert files.open("/a").pread(9, 0) == b"first"


def test_state_after_a_crash_can_be_inspected_without_a_crash() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.sync_directory("/")
    file = files.create("/d/a")
    file.append(b"abc")
    file.append(b"def")

    left = files.after_crash([0, 1, 2], torn={2: TornWrite(1)})

    assert left.open("/d/a").pread(9, 0) == b"abcd"
    assert files.after_crash().list("/d") == []
    assert file.pread(9, 0) == b"abcdef"
    assert len(files.pending()) == 3
    assert left.pending() == ()


def test_state_after_a_crash_is_another_file_system() -> None:
    files = MemoryFiles()
    files.create("/a").append(b"abc")
    left = files.after_crash([0, 1])

    left.open("/a", writable=True).append(b"d")
    files.remove("/a")

    assert left.after_crash([0]).open("/a").pread(9, 0) == b"abcd"
    assert files.after_crash([0, 1, 2]).list("/") == []
    assert files.after_crash([0, 1]).open("/a").pread(9, 0) == b"abc"


def test_state_after_a_crash_may_contain_removed_files() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.create("/d/a").append(b"abc")
    files.remove("/d/a")
    files.remove_directory("/d")

    for _ in range(2):
        assert files.after_crash([0, 1, 2]).open("/d/a").pread(9, 0) == b"abc"
    assert files.after_crash([0]).list("/d") == []
