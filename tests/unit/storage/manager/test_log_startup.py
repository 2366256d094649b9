"""Every log is loaded; a damaged log is offline alone, a disk error affects its directory."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cordwood.core.errors import (
    KafkaStorageError,
    KernelLibraryError,
    LogDirectoryError,
    StartInterruptedError,
)
from cordwood.core.ports import LoopPorts
from cordwood.core.system import SystemFiles, SystemRandom, ThreadWorker
from cordwood.storage.checkpoints.checkpoint_files import RECOVERY_POINTS
from cordwood.storage.checkpoints.clean_shutdown_file import read_clean_shutdown
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_directories import DirectoryOwner, open_directories
from cordwood.storage.manager.log_manager import LogManager, ManagerOptions, ManagerSettings
from cordwood.storage.manager.log_startup import load_logs
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFile, MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock, VirtualTimer
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import ORDERS_ID, LogManagerHarness, create_logs, partition
from tests.unit.storage.segment_samples import v2


def _stopped(harness: LogManagerHarness, *numbers: int, records: int = 3) -> None:
    """Leave logs after a clean shutdown, alternating between the two directories."""
    manager = harness.load()
    for log in create_logs(manager, *numbers):
        filled(log, records)
    manager.close()


def test_logs_are_loaded_from_all_directories() -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0, 1, 2)

    manager = harness.load()

    assert sorted(log.directory for log in manager.logs.values()) == [
        "/a/orders-0",
        "/a/orders-2",
        "/b/orders-1",
    ]
    assert [log.bounds.log_end for log in manager.logs.values()] == [3, 3, 3]
    assert [log.bounds.high_watermark for log in manager.logs.values()] == [3, 3, 3]
    assert harness.events == []


def test_topic_ids_are_known_without_another_read_of_their_files() -> None:
    harness = LogManagerHarness()
    first = harness.load()
    log_creation.create(first, partition(), topic_id=ORDERS_ID)
    assert first.topic_id(partition()) == ORDERS_ID
    first.close()
    manager = harness.load()
    harness.files.remove("/a/orders-0/partition.metadata")

    assert manager.topic_id(partition()) == ORDERS_ID


def test_logs_keep_no_file_open_when_they_are_loaded() -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0, 1)

    manager = harness.load()

    assert manager.options.open_files.open_count == 0
    assert lead(manager.logs[partition()], batch()).first_offset == 3


class _InterruptAfter:
    """Interrupts the start at the call after `calls`."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def __call__(self) -> None:
        self.calls -= 1
        if self.calls < 0:
            raise StartInterruptedError("a signal")


@pytest.mark.parametrize("loaded", (0, 1, 2, 3))
def test_interrupted_start_closes_what_it_has_loaded(loaded: int) -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0, 1, 2)
    before = read_clean_shutdown(harness.files, "/a")
    harness.check_start = _InterruptAfter(loaded)
    manager = harness.open()

    with pytest.raises(StartInterruptedError):
        load_logs(manager)
    opened = len(manager.logs)
    manager.close()

    assert (opened, read_clean_shutdown(harness.files, "/a")) == (loaded, before)
    harness.check_start = lambda: None
    again = harness.load()
    assert [log.bounds.log_end for log in again.logs.values()] == [3, 3, 3]
    assert harness.events == []


def test_torn_end_is_reported_when_a_log_is_loaded() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    filled(create_logs(manager)[0], 3)
    path = f"/a/orders-0/{0:020}.log"
    harness.files.open(path, writable=True).append(b"torn")
    harness.files.crash(range(len(harness.files.pending())))

    manager = harness.load()

    assert manager.logs[partition()].bounds.log_end == 3
    assert harness.events[0].startswith("/a/orders-0: recovery truncated 4 invalid bytes")


def test_scanners_are_requested_for_each_log_that_was_not_closed() -> None:
    harness = LogManagerHarness(config=LogConfig())
    manager = harness.load()
    for count, log in enumerate(create_logs(manager, 0, 1), start=2):
        filled(log, count)
    harness.files.crash(range(len(harness.files.pending())))
    counts: list[int] = []
    harness.striders = counts.append

    harness.load()

    assert sorted(counts) == [2, 3]


def test_library_without_the_kernels_of_recovery_refuses_the_start_and_no_log() -> None:
    harness = LogManagerHarness(config=LogConfig())
    filled(create_logs(harness.load())[0], 3)
    harness.files.crash(range(len(harness.files.pending())))

    def reject(_batches: int) -> None:
        raise KernelLibraryError("cut", path="/k.so", remedy="copy")

    scanners, harness.striders = harness.striders, reject
    manager = harness.open()

    with pytest.raises(KernelLibraryError):
        load_logs(manager)
    manager.close()

    assert harness.events == []
    harness.striders = scanners
    assert harness.load().logs[partition()].bounds.log_end == 3


def test_partition_in_two_directories_is_rejected_before_any_log_is_opened() -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0)
    harness.files.make_directory("/b/orders-0")
    manager = harness.open()

    with pytest.raises(LogDirectoryError, match="/b: orders-0 is in /a too; move one"):
        load_logs(manager)
    manager.close()

    assert harness.files.list("/b/orders-0") == []
    assert read_clean_shutdown(harness.files, "/a") is not None


@pytest.mark.parametrize("path", ("/a", "/b"))
def test_two_future_logs_of_one_partition_are_rejected(path: str) -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0)
    harness.files.make_directory(f"/a/orders-0.{'1' * 32}-future")
    harness.files.make_directory(f"{path}/orders-0.{'2' * 32}-future")

    with pytest.raises(LogDirectoryError, match=f"{path}: orders-0 is in /a too"):
        harness.load()


def test_directory_that_is_not_a_partition_is_rejected() -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0)
    harness.files.make_directory("/a/photographs")

    with pytest.raises(LogDirectoryError, match="'photographs' does not have the form"):
        harness.load()


def test_future_log_is_loaded_in_addition_to_the_log() -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0)
    harness.files.make_directory(f"/b/orders-0.{'1' * 32}-future")

    manager = harness.load()

    assert manager.logs[partition()].directory == "/a/orders-0"
    assert manager.futures[partition()].directory == f"/b/orders-0.{'1' * 32}-future"


def test_deleted_directory_is_removed_after_a_delay_and_a_stray_one_stays() -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0)
    for suffix in ("delete", "stray"):
        harness.files.make_directory(f"/a/orders-1.{'1' * 32}-{suffix}")

    manager = harness.load()
    harness.clock.advance(seconds=59)
    before = harness.names("/a", ending="-delete")
    harness.clock.advance(seconds=1)

    assert list(manager.logs) == [partition()]
    assert len(before) == 1
    assert harness.names("/a", ending="-delete") == []
    assert len(harness.names("/a", ending="-stray")) == 1


def test_unreadable_log_takes_only_its_directory_offline() -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0, 1, 2)
    harness.files.script.add(FileFault(on="*", path="/a/orders-2/*", times=99))

    manager = harness.load()

    assert list(manager.logs) == [partition(1)]
    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        manager.get(partition(0))
    assert harness.events[0].startswith("/a/orders-2 cannot be loaded: [Errno 5]")
    assert harness.events[1].startswith("/a is offline with 1 logs")


@pytest.mark.parametrize("name", ("leader-epoch-checkpoint", "partition.metadata"))
def test_damaged_side_file_takes_only_its_log_offline_and_names_the_remedy(name: str) -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0, 1, 2)
    file = harness.files.open(f"/a/orders-0/{name}", writable=True)
    file.truncate(0)
    file.append(b"nonsense")

    manager = harness.load()

    assert sorted(manager.logs) == [partition(1), partition(2)]
    words = f"/a/orders-0 cannot be loaded: /a/orders-0/{name}: line 1"
    with pytest.raises(KafkaStorageError, match=words):
        manager.get(partition(0))
    assert [event.startswith(words) for event in harness.events] == [True]


def _damaged(harness: LogManagerHarness) -> LogManager:
    """Load two logs of one directory; the first is damaged."""
    manager = harness.load()
    for log in create_logs(manager, 0, 1):
        filled(log, 20).delete_records(7)
    manager.close()
    file = harness.files.open("/a/orders-0/leader-epoch-checkpoint", writable=True)
    file.append(b"nonsense")
    return harness.load()


def test_log_that_could_not_be_loaded_is_not_created_again() -> None:
    manager = _damaged(LogManagerHarness("/a"))

    with pytest.raises(KafkaStorageError, match="/a/orders-0 cannot be loaded: "):
        manager.get(partition(0))
    for change in (log_renames.delete, log_renames.set_aside):
        with pytest.raises(KafkaStorageError, match="/a/orders-0 cannot be loaded: "):
            change(manager, partition(0))
    with pytest.raises(KafkaStorageError, match="/a/orders-0 cannot be loaded: "):
        log_creation.create(manager, partition(0), topic_id=ORDERS_ID, is_new=True)
    assert manager.directories[0].is_online


def test_checkpoints_of_a_log_that_could_not_be_loaded_are_kept() -> None:
    harness = LogManagerHarness("/a")
    manager = _damaged(harness)
    manager.checkpoints.write_all(RECOVERY_POINTS)
    manager.close()
    harness.files.remove("/a/orders-0/leader-epoch-checkpoint")

    logs = harness.load().logs

    assert [logs[partition(each)].bounds.log_start for each in (0, 1)] == [7, 7]
    assert [logs[partition(each)].bounds.high_watermark for each in (0, 1)] == [20, 20]


def test_directory_with_a_log_that_could_not_be_loaded_is_not_marked_as_clean() -> None:
    harness = LogManagerHarness("/a")

    _damaged(harness).close()

    assert read_clean_shutdown(harness.files, "/a") is None


def test_log_without_space_for_loading_is_the_only_offline_one() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    for log in create_logs(manager, 0, 1):
        filled(log, 3).flush()
    harness.files.crash()
    harness.files.script.add(
        FileFault(on="*", path="/a/orders-0/*.timeindex", code=errno.ENOSPC, times=99)
    )

    manager = harness.load()

    assert list(manager.logs) == [partition(1)]
    assert [event.partition(":")[0] for event in harness.events] == ["/a/orders-0 cannot be loaded"]
    assert harness.events[0].endswith("; free disk space and restart")


def test_directory_that_cannot_be_listed_is_offline() -> None:
    harness = LogManagerHarness()
    _stopped(harness, 0, 1)
    manager = harness.open()
    harness.files.script.add(FileFault(on="list", path="/a", code=errno.EACCES))

    load_logs(manager)

    assert list(manager.logs) == [partition(1)]
    assert [directory.is_loaded for directory in manager.directories] == [False, True]


class _OwnedClock(VirtualClock):
    """A clock that only its own thread may schedule calls on."""

    def __init__(self) -> None:
        super().__init__()
        self.owner = threading.get_ident()

    def call_at(self, when_ms: float, call: Callable[[], object]) -> VirtualTimer:
        assert threading.get_ident() == self.owner
        return super().call_at(when_ms, call)


class _Machine:
    """Directories on a real disk, and a worker with threads."""

    def __init__(self, *paths: Path) -> None:
        self.paths = [str(path) for path in paths]
        self.events: list[str] = []
        self.clock = _OwnedClock()
        self.worker = ThreadWorker(threads=3)

    def load(self) -> LogManager:
        files, random = SystemFiles(), SystemRandom()
        owner = DirectoryOwner(random=random, on_event=self.events.append)
        ports = LoopPorts(
            files=files,
            clock=self.clock,
            random=random,
            scheduler=self.clock,
            worker=self.worker,
        )
        options = ManagerOptions(
            open_files=OpenFileCache(files, 4),
            call_soon=lambda call: call(),
            on_event=self.events.append,
        )
        settings = ManagerSettings(config_for=lambda _: LogConfig(segment_index_bytes=1200))
        loaded = LogManager(
            open_directories(files, self.paths, owner=owner), ports, settings, options
        )
        load_logs(loaded)
        return loaded


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[_Machine]:
    machine = _Machine(*(tmp_path / name for name in ("a", "b", "c")))
    yield machine
    machine.worker.close()


def test_logs_are_loaded_by_threads(machine: _Machine) -> None:
    first = machine.load()
    for number in range(12):
        filled(log_creation.create(first, partition(number), topic_id=ORDERS_ID), 2)
    first.close()

    second = machine.load()

    assert sorted(log.bounds.log_end for log in second.logs.values()) == [2] * 12
    assert [directory.is_clean for directory in second.directories] == [True] * 3
    assert machine.events == []
    second.close()


def test_files_found_by_loading_threads_are_deleted_by_the_owner(machine: _Machine) -> None:
    log = log_creation.create(machine.load(), partition(), topic_id=ORDERS_ID)
    Path(f"{log.directory}/{0:020}.log").write_bytes(v2(0) + v2(1 << 31))
    again = _Machine(*map(Path, machine.paths))
    again.clock = machine.clock
    for path in machine.paths:
        Path(path, ".lock").unlink()

    split = again.load().logs[partition()]
    before = list(Path(log.directory).glob("*.deleted"))
    machine.clock.advance(seconds=60)
    again.worker.close()

    assert split.base_offsets == (0, 1 << 31)
    assert len(before) > 0
    assert list(Path(log.directory).glob("*.deleted")) == []


def test_special_files_affect_at_most_their_log_and_are_not_changed(machine: _Machine) -> None:
    first = machine.load()
    logs = [
        filled(log_creation.create(first, partition(each), topic_id=ORDERS_ID), 2)
        for each in range(9)
    ]
    first.close()
    places = [Path(log.directory) for log in logs]
    for number, place in enumerate(places[:4]):
        odd = place / f"{1:020}.log"
        _ODD[number](odd)
    for number, place in enumerate(places[4:8]):
        (place / f"{0:020}.log").unlink()
        _ODD[number](place / f"{0:020}.log")
    _ODD[1](Path(machine.paths[0], "orders-10"))
    Path(machine.paths[0], "orders-11").touch()

    second = machine.load()

    assert sorted(second.logs) == [partition(each) for each in (0, 1, 2, 3, 8)]
    assert places[6].joinpath(f"{0:020}.log").is_fifo()
    assert [directory.is_online for directory in second.directories] == [True] * 3
    assert all("another file has the name" in event for event in machine.events)
    assert len(machine.events) == 4
    second.close()


_ODD: tuple[Callable[[Path], object], ...] = (
    Path.mkdir,
    lambda path: path.symlink_to("nowhere"),
    os.mkfifo,
    lambda path: path.symlink_to(path),
)


class _Watched(MemoryFiles):
    """Files that record which files were opened."""

    opened: list[MemoryFile]

    def open(self, path: str, *, writable: bool = False) -> MemoryFile:
        file = super().open(path, writable=writable)
        self.opened.append(file)
        return file


def test_failed_loading_leaves_no_file_open() -> None:
    harness = LogManagerHarness("/a")
    harness.files = _Watched(harness.clock)
    harness.files.opened = []
    _stopped(harness, 0)
    harness.files.opened.clear()
    harness.files.script.add(FileFault(on="open", path="*/partition.metadata"))

    harness.load()

    assert len(harness.files.opened) > 1
    for file in harness.files.opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            _ = file.size
