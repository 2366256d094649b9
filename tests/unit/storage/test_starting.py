"""Every log is loaded; a damaged one costs itself, one that cannot be read its directory."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.system import SystemFiles, SystemRandom, ThreadWorker
from cordwood.storage.clean_shutdown import read_clean_shutdown
from cordwood.storage.directories import Owner, open_directories
from cordwood.storage.file_table import FileTable
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import LogManager
from cordwood.storage.stock import ManagerSettings, ManagerTools
from cordwood.testing.clock import VirtualClock, VirtualTimer
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFile, MemoryFiles
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import ORDERS_ID, House, made, partition
from tests.unit.storage.segment_samples import v2


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


def test_striders_are_asked_by_each_log_that_was_not_closed() -> None:
    house = House(config=LogConfig())
    manager = house.load()
    for count, log in enumerate(made(manager, 0, 1), start=2):
        filled(log, count)
    house.files.crash(range(len(house.files.pending())))
    asked: list[int] = []
    house.striders = asked.append

    house.load()

    assert sorted(asked) == [2, 3]


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


@pytest.mark.parametrize("path", ("/a", "/b"))
def test_two_copies_of_one_partition_are_refused(path: str) -> None:
    house = House()
    _stopped(house, 0)
    house.files.make_directory(f"/a/orders-0.{'1' * 32}-future")
    house.files.make_directory(f"{path}/orders-0.{'2' * 32}-future")

    with pytest.raises(LogDirectoryError, match=f"{path}: orders-0 is in /a too"):
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
def test_damaged_side_file_costs_its_log_alone_and_says_what_to_do(name: str) -> None:
    house = House()
    _stopped(house, 0, 1, 2)
    file = house.files.open(f"/a/orders-0/{name}", writable=True)
    file.truncate(0)
    file.append(b"nonsense")

    manager = house.load()

    assert sorted(manager.logs) == [partition(1), partition(2)]
    words = f"/a/orders-0 cannot be loaded: /a/orders-0/{name}: line 1"
    with pytest.raises(KafkaStorageError, match=words):
        manager.get(partition(0))
    assert [event.startswith(words) for event in house.events] == [True]


def _damaged(house: House) -> LogManager:
    """Load two logs of one directory, of which the first is damaged."""
    manager = house.load()
    for log in made(manager, 0, 1):
        filled(log, 20).delete_records(7)
    manager.close()
    file = house.files.open("/a/orders-0/leader-epoch-checkpoint", writable=True)
    file.append(b"nonsense")
    return house.load()


def test_log_that_could_not_be_loaded_is_not_made_anew() -> None:
    manager = _damaged(House("/a"))

    for ask in (manager.get, manager.delete, manager.set_aside):
        with pytest.raises(KafkaStorageError, match="/a/orders-0 cannot be loaded: "):
            ask(partition(0))
    with pytest.raises(KafkaStorageError, match="/a/orders-0 cannot be loaded: "):
        manager.create(partition(0), topic_id=ORDERS_ID, is_new=True)
    assert manager.directories[0].is_online


def test_what_was_known_of_a_log_that_could_not_be_loaded_stays_known() -> None:
    house = House("/a")
    manager = _damaged(house)
    manager.write_recovery_points()
    manager.close()
    house.files.remove("/a/orders-0/leader-epoch-checkpoint")

    logs = house.load().logs

    assert [logs[partition(each)].bounds.log_start for each in (0, 1)] == [7, 7]
    assert [logs[partition(each)].bounds.high_watermark for each in (0, 1)] == [20, 20]


def test_directory_with_a_log_that_could_not_be_loaded_is_not_marked_as_clean() -> None:
    house = House("/a")

    _damaged(house).close()

    assert read_clean_shutdown(house.files, "/a") is None


def test_log_that_finds_no_space_while_it_is_loaded_is_offline_alone() -> None:
    house = House("/a")
    manager = house.load()
    for log in made(manager, 0, 1):
        filled(log, 3).flush()
    house.files.crash()
    house.files.script.add(
        Fault(on="*", path="/a/orders-0/*.timeindex", code=errno.ENOSPC, times=99)
    )

    manager = house.load()

    assert list(manager.logs) == [partition(1)]
    assert [event.partition(":")[0] for event in house.events] == ["/a/orders-0 cannot be loaded"]
    assert house.events[0].endswith("; make room, and start again")


def test_directory_that_cannot_be_listed_is_offline() -> None:
    house = House()
    _stopped(house, 0, 1)
    manager = house.open()
    house.files.script.add(Fault(on="list", path="/a", code=errno.EACCES))

    manager.load()

    assert list(manager.logs) == [partition(1)]
    assert [directory.is_loaded for directory in manager.directories] == [False, True]


class _OwnedClock(VirtualClock):
    """A clock whose calls are asked for by the thread that made it, and by no other."""

    def __init__(self) -> None:
        super().__init__()
        self.owner = threading.get_ident()

    def call_at(self, when_ms: float, call: Callable[[], object]) -> VirtualTimer:
        assert threading.get_ident() == self.owner
        return super().call_at(when_ms, call)


class _Machine:
    """Directories on a real disk, and a worker with threads, until it is closed."""

    def __init__(self, *paths: Path) -> None:
        self.paths = [str(path) for path in paths]
        self.events: list[str] = []
        self.clock = _OwnedClock()
        self.worker = ThreadWorker(threads=3)

    def load(self) -> LogManager:
        files, random = SystemFiles(), SystemRandom()
        owner = Owner(random=random, on_event=self.events.append)
        tools = ManagerTools(
            files=files,
            clock=self.clock,
            scheduler=self.clock,
            worker=self.worker,
            random=random,
            table=FileTable(files, 4),
            call_soon=lambda call: call(),
            on_event=self.events.append,
        )
        settings = ManagerSettings(config_for=lambda _: LogConfig(segment_index_bytes=1200))
        loaded = LogManager(open_directories(files, self.paths, owner=owner), tools, settings)
        loaded.load()
        return loaded


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[_Machine]:
    machine = _Machine(*(tmp_path / name for name in ("a", "b", "c")))
    yield machine
    machine.worker.close()


def test_logs_are_loaded_by_threads(machine: _Machine) -> None:
    first = machine.load()
    for number in range(12):
        filled(first.create(partition(number), topic_id=ORDERS_ID), 2)
    first.close()

    second = machine.load()

    assert sorted(log.bounds.log_end for log in second.logs.values()) == [2] * 12
    assert [directory.is_clean for directory in second.directories] == [True] * 3
    assert machine.events == []
    second.close()


def test_owner_schedules_what_threads_have_found_to_be_deleted(machine: _Machine) -> None:
    log = machine.load().create(partition(), topic_id=ORDERS_ID)
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


def test_odd_things_cost_their_log_at_most_and_stay_as_they_are(machine: _Machine) -> None:
    first = machine.load()
    logs = [filled(first.create(partition(each), topic_id=ORDERS_ID), 2) for each in range(9)]
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
    assert all("something else has the name" in event for event in machine.events)
    assert len(machine.events) == 4
    second.close()


_ODD: tuple[Callable[[Path], object], ...] = (
    Path.mkdir,
    lambda path: path.symlink_to("nowhere"),
    os.mkfifo,
    lambda path: path.symlink_to(path),
)


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
