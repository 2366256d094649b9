"""Every log is loaded, and one that cannot be read costs its directory and no other."""

import errno
from pathlib import Path

import pytest

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom, ThreadWorker
from cordwood.storage.clean_shutdown import read_clean_shutdown
from cordwood.storage.directories import Owner, open_directories
from cordwood.storage.file_table import FileTable
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import LogManager
from cordwood.storage.stock import ManagerSettings, ManagerTools
from cordwood.testing.clock import VirtualClock
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFile, MemoryFiles
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import ORDERS_ID, House, made, partition


def _stopped(house: House, *numbers: int, records: int = 3) -> None:
    """Leave logs after a clean stop; they are in the two directories in turn."""
    manager = house.load()
    for log in made(manager, *numbers):
        filled(log, records)
    manager.close()


def test_logs_are_loaded_from_all_directories() -> None:
    house = House()
    _stopped(house, 0, 1, 2)

    manager = house.load()

    assert sorted(log.directory for log in manager.logs.values()) == [
        "/a/orders-0",
        "/a/orders-2",
        "/b/orders-1",
    ]
    assert [log.bounds.log_end for log in manager.logs.values()] == [3, 3, 3]
    assert [log.bounds.high_watermark for log in manager.logs.values()] == [3, 3, 3]
    assert house.events == []


def test_logs_keep_no_file_open_when_they_are_loaded() -> None:
    house = House()
    _stopped(house, 0, 1)

    manager = house.load()

    assert manager.tools.table.open_count == 0
    assert lead(manager.logs[partition()], batch()).first_offset == 3


def test_torn_end_is_told_when_a_log_is_loaded() -> None:
    house = House()
    manager = house.load()
    filled(made(manager)[0], 3)
    path = f"/a/orders-0/{0:020}.log"
    house.files.open(path, writable=True).append(b"torn")
    house.files.crash(range(len(house.files.pending())))

    manager = house.load()

    assert manager.logs[partition()].bounds.log_end == 3
    assert house.events[0].startswith("/a/orders-0: 4 bytes at the end were not whole")


def test_partition_in_two_directories_is_refused_before_any_log_is_opened() -> None:
    house = House()
    _stopped(house, 0)
    house.files.make_directory("/b/orders-0")
    manager = house.open()

    with pytest.raises(LogDirectoryError, match="/b: orders-0 is in /a too; move one"):
        manager.load()
    manager.close()

    assert house.files.list("/b/orders-0") == []
    assert read_clean_shutdown(house.files, "/a") is not None


def test_two_copies_of_one_partition_are_refused() -> None:
    house = House()
    _stopped(house, 0)
    house.files.make_directory(f"/a/orders-0.{'1' * 32}-future")
    house.files.make_directory(f"/b/orders-0.{'2' * 32}-future")

    with pytest.raises(LogDirectoryError, match="/b: orders-0 is in /a too"):
        house.load()


def test_directory_that_is_no_partition_is_refused() -> None:
    house = House()
    _stopped(house, 0)
    house.files.make_directory("/a/photographs")

    with pytest.raises(LogDirectoryError, match="'photographs' has not the form"):
        house.load()


def test_copy_is_loaded_beside_the_log() -> None:
    house = House()
    _stopped(house, 0)
    house.files.make_directory(f"/b/orders-0.{'1' * 32}-future")

    manager = house.load()

    assert manager.logs[partition()].directory == "/a/orders-0"
    assert manager.futures[partition()].directory == f"/b/orders-0.{'1' * 32}-future"


def test_deleted_directory_goes_after_a_while_and_a_stray_one_stays() -> None:
    house = House()
    _stopped(house, 0)
    for suffix in ("delete", "stray"):
        house.files.make_directory(f"/a/orders-1.{'1' * 32}-{suffix}")

    manager = house.load()
    house.clock.advance(seconds=59)
    before = house.names("/a", ending="-delete")
    house.clock.advance(seconds=1)

    assert list(manager.logs) == [partition()]
    assert (len(before), house.names("/a", ending="-delete")) == (1, [])
    assert len(house.names("/a", ending="-stray")) == 1


def test_log_that_cannot_be_read_takes_its_directory_offline_alone() -> None:
    house = House()
    _stopped(house, 0, 1, 2)
    house.files.script.add(Fault(on="*", path="/a/orders-2/*", times=99))

    manager = house.load()

    assert list(manager.logs) == [partition(1)]
    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        manager.get(partition(0))
    assert house.events[0].startswith("/a/orders-2 cannot be loaded: [Errno 5]")
    assert house.events[1].startswith("/a is offline with 1 logs")


@pytest.mark.parametrize("name", ("leader-epoch-checkpoint", "partition.metadata"))
def test_damaged_side_file_takes_its_directory_offline_with_what_to_do(name: str) -> None:
    house = House()
    _stopped(house, 0, 1, 2)
    file = house.files.open(f"/a/orders-0/{name}", writable=True)
    file.truncate(0)
    file.append(b"nonsense")

    manager = house.load()

    assert list(manager.logs) == [partition(1)]
    assert house.events[0].startswith(f"/a/orders-0 cannot be loaded: /a/orders-0/{name}: line 1")
    assert len(house.events) == 2


def test_directory_that_cannot_be_listed_is_offline() -> None:
    house = House()
    _stopped(house, 0, 1)
    manager = house.open()
    house.files.script.add(Fault(on="list", path="/a", code=errno.EACCES))

    manager.load()

    assert list(manager.logs) == [partition(1)]
    assert [directory.is_loaded for directory in manager.directories] == [False, True]


def test_logs_are_loaded_by_threads(tmp_path: Path) -> None:
    files, clock, random = SystemFiles(), VirtualClock(), SystemRandom()
    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    events: list[str] = []

    def manager(worker: ThreadWorker) -> LogManager:
        owner = Owner(random=random, on_event=events.append)
        tools = ManagerTools(
            files=files,
            clock=SystemClock(),
            scheduler=clock,
            worker=worker,
            random=random,
            table=FileTable(files, 4),
            call_soon=lambda call: call(),
            on_event=events.append,
        )
        settings = ManagerSettings(config_for=lambda _: LogConfig())
        loaded = LogManager(open_directories(files, paths, owner=owner), tools, settings)
        loaded.load()
        return loaded

    first_worker, second_worker = ThreadWorker(threads=3), ThreadWorker(threads=3)
    first = manager(first_worker)
    for number in range(12):
        filled(first.create(partition(number), topic_id=ORDERS_ID), 2)
    first.close()
    second = manager(second_worker)

    assert sorted(log.bounds.log_end for log in second.logs.values()) == [2] * 12
    assert [directory.is_clean for directory in second.directories] == [True] * 3
    second.close()
    for worker in (first_worker, second_worker):
        worker.close()
    assert events == []


class _Watched(MemoryFiles):
    """Files that remember what was opened."""

    opened: list[MemoryFile]

    def open(self, path: str, *, writable: bool = False) -> MemoryFile:
        file = super().open(path, writable=writable)
        self.opened.append(file)
        return file


def test_log_that_cannot_be_loaded_leaves_no_file_open() -> None:
    house = House("/a")
    house.files = _Watched(house.clock)
    house.files.opened = []
    _stopped(house, 0)
    house.files.opened.clear()
    house.files.script.add(Fault(on="open", path="*/partition.metadata"))

    house.load()

    assert len(house.files.opened) > 1
    for file in house.files.opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            _ = file.size
