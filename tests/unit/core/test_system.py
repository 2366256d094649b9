"""Operating-system ports beyond their contracts: group commit, short reads, errors."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cordwood.core.lane_threads import LANE_THREADS
from cordwood.core.ports import FileKind, Lane
from cordwood.core.system import LoopScheduler, SystemClock, SystemFiles, ThreadWorker
from cordwood.testing.memory_files import MemoryFile, MemoryFiles


class _SlowFile(MemoryFile):
    """A file whose first sync blocks until the test releases it."""

    gate: threading.Event
    syncs: int

    def sync(self) -> None:
        self.syncs += 1
        assert self.gate.wait(10)
        super().sync()


def _slow_file() -> _SlowFile:
    files = MemoryFiles()
    plain = files.create("/a")
    file = _SlowFile(files, "/a", plain.node, writable=True)
    file.gate, file.syncs = threading.Event(), 0
    return file


def test_worker_commits_pending_syncs_as_one_group() -> None:
    file, worker = _slow_file(), ThreadWorker(threads=2)

    pending = [worker.sync(file) for _ in range(10)]
    file.gate.set()
    for each in pending:
        each.result()
    worker.close()

    assert file.syncs <= 2


def test_worker_completes_other_syncs_when_one_is_cancelled() -> None:
    file, worker = _slow_file(), ThreadWorker(threads=1)
    worker.submit(lambda: file.gate.wait(10), lane=Lane.FLUSH)

    first, second = worker.sync(file), worker.sync(file)
    first.cancel()
    file.gate.set()

    assert second.result() is None
    worker.close()


@pytest.mark.parametrize("blocked", Lane)
def test_calls_of_a_lane_wait_for_no_other_lane(blocked: Lane) -> None:
    worker, gate = ThreadWorker(), threading.Event()
    for _ in range(LANE_THREADS[blocked]):
        worker.submit(gate.wait, lane=blocked)

    waiting = worker.submit(lambda: True, lane=blocked)
    others = [worker.submit(lambda: True, lane=lane) for lane in Lane if lane is not blocked]

    assert all(pending.result(timeout=10) for pending in others)
    assert not waiting.done()
    gate.set()
    worker.close()
    assert waiting.done()


def test_worker_starts_no_thread_before_a_call_except_for_ready_lanes() -> None:
    before = threading.active_count()
    idle, ready = ThreadWorker(), ThreadWorker(ready=[Lane.READ, Lane.FLUSH])

    assert threading.active_count() == before + 2
    for worker in (idle, ready):
        worker.close()
    assert threading.active_count() == before


def test_forgotten_worker_has_no_threads() -> None:
    before = {*threading.enumerate()}
    ThreadWorker(ready=[Lane.READ])  # no reference is kept

    for thread in {*threading.enumerate()} - before:
        thread.join(10)

    assert {*threading.enumerate()} <= before


def _odd_things(place: Path) -> None:
    """Create a pipe, a socket, and links to a file, a directory, nothing and themselves."""
    os.mkfifo(place / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place / "socket"))
    (place / "file").touch()
    (place / "folder").mkdir()
    for name in ("file", "folder", "nothing"):
        (place / f"to-{name}").symlink_to(place / name)
    (place / "loop").symlink_to(place / "loop")


def test_links_are_listed_by_their_targets_and_special_files_are_left_out(tmp_path: Path) -> None:
    files = SystemFiles()

    _odd_things(tmp_path)

    assert files.list(str(tmp_path), FileKind.FILE) == ["file", "to-file"]
    assert files.list(str(tmp_path), FileKind.DIRECTORY) == ["folder", "to-folder"]
    assert len(files.list(str(tmp_path))) == 8


@pytest.mark.parametrize("name", ("pipe", "socket"))
@pytest.mark.parametrize("is_writable", (False, True))
def test_directory_and_pipe_are_rejected_without_waiting(
    tmp_path: Path, name: str, *, is_writable: bool
) -> None:
    _odd_things(tmp_path)

    with pytest.raises(OSError, match=r"bytes at positions|No such device|not supported"):
        SystemFiles().open(str(tmp_path / name), writable=is_writable)


def test_append_is_truncated_when_a_write_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = SystemFiles().create(str(tmp_path / "a"))
    file.append(b"safe")
    write = os.pwrite

    def tear(descriptor: int, data: bytes, position: int) -> int:
        if position > 4:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:2], position)

    monkeypatch.setattr(os, "pwrite", tear)

    with pytest.raises(OSError, match="No space"):
        file.append(b"more")

    assert file.pread(99, 0) == b"safe"


def test_read_continues_after_a_short_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = SystemFiles().create(str(tmp_path / "a"))
    file.append(b"0123456789")
    read = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, length, at: read(fd, min(length, 3), at))

    assert file.pread(8, 1) == b"12345678"


def test_scheduler_reports_an_error_and_continues() -> None:
    loop, clock = asyncio.new_event_loop(), SystemClock()
    scheduler, errors = LoopScheduler(loop, clock), list[object]()
    loop.set_exception_handler(lambda _, context: errors.append(context["exception"]))

    scheduler.call_at(clock.monotonic_ms(), lambda: 1 // 0)
    scheduler.call_at(clock.monotonic_ms() + 1, loop.stop)
    loop.run_forever()
    loop.close()

    assert [type(error) for error in errors] == [ZeroDivisionError]


def test_closed_worker_rejects_each_sync() -> None:
    worker, file = ThreadWorker(threads=1), MemoryFiles().create("/a")
    worker.close()

    for _ in range(2):
        with pytest.raises(RuntimeError, match="shutdown"):
            worker.sync(file)


# Java's FileChannel.tryLock: a record lock over the whole file.
_TAKE_AS_JAVA_DOES = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("locked")
    print("taken", flush=True)
    sys.stdin.read()
"""


def _java_like(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-S", "-c", _TAKE_AS_JAVA_DOES, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_lock_keeps_kafka_out(tmp_path: Path) -> None:
    lock = SystemFiles().lock(str(tmp_path / ".lock"))

    with _java_like(tmp_path / ".lock") as refused:
        _, words = refused.communicate(timeout=10)
    lock.release()
    with _java_like(tmp_path / ".lock") as admitted:
        taken, _ = admitted.communicate(timeout=10)

    assert words.strip() == "locked"
    assert taken.strip() == "taken"


def test_lock_held_by_kafka_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    path.touch()

    with _java_like(path) as kafka:
        assert kafka.stdout is not None
        kafka.stdout.readline()
        with pytest.raises(BlockingIOError):
            SystemFiles().lock(str(path))
        kafka.communicate(timeout=10)

    SystemFiles().lock(str(path)).release()


def test_lock_stays_when_another_owner_in_the_process_is_rejected(tmp_path: Path) -> None:
    lock = SystemFiles().lock(str(tmp_path / ".lock"))
    with pytest.raises(BlockingIOError):
        SystemFiles().lock(str(tmp_path / ".lock"))

    with _java_like(tmp_path / ".lock") as refused:
        _, words = refused.communicate(timeout=10)
    lock.release()

    assert words.strip() == "locked"


def test_lock_is_an_flock_without_open_file_locks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cordwood.core.system._LOCK_OF_OPEN_FILE", None)
    lock = SystemFiles().lock(str(tmp_path / ".lock"))

    with pytest.raises(BlockingIOError):
        SystemFiles().lock(str(tmp_path / ".lock"))
    lock.release()
