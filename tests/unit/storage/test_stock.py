"""What befalls logs: full disks, disks that fail, damage, and what is then said and kept."""

import errno

import pytest

from cordwood.core.errors import CorruptMessageError, DamagedFileError, KafkaStorageError
from cordwood.storage.checkpoints import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.index import IndexOrderError, SegmentOverflowError, UnfitEntryError
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import LogManager
from cordwood.storage.origin import Origin
from cordwood.storage.stock import ManagerSettings, Stock
from cordwood.testing.faults import Fault
from tests.unit.storage.log_samples import (
    batch,
    bytes_of,
    filled,
    follow,
    lead,
    marker,
    produced,
    read,
)
from tests.unit.storage.manager_samples import House, made, partition


def append(manager: LogManager, log: Log, data: bytearray | None = None, *, epoch: int = 0) -> int:
    """Append as the broker does, and return the offset."""
    with manager.using(log):
        return lead(log, data or batch(), epoch=epoch).first_offset


def stock_of(manager: LogManager) -> Stock:
    """Return a stock of the same directories, with the same logs in it."""
    settings = ManagerSettings(config_for=lambda _: LogConfig())
    stock = Stock(manager.directories, manager.tools, settings)
    for log in manager.all_logs():
        stock.current.put(log, manager.directory_of(log))
    for directory in manager.directories:
        directory.checkpoints[HIGH_WATERMARKS] = read_offset_checkpoint(
            directory.files, f"{directory.path}/{HIGH_WATERMARKS}"
        )
    return stock


def online(manager: LogManager) -> list[bool]:
    return [directory.is_online for directory in manager.directories]


def test_full_disk_refuses_appends_and_serving_resumes_when_space_returns() -> None:
    house = House()
    manager = house.load()
    log = filled(made(manager)[0], 1)
    before = bytes_of(read(log, 0))
    house.files.capacity_bytes = house.files.used_bytes()

    with pytest.raises(KafkaStorageError, match=r"/a/orders-0: .*No space left"):
        append(manager, log)
    while_full = bytes_of(read(log, 0))
    house.files.capacity_bytes *= 2

    assert (while_full, online(manager)) == (before, [True, True])
    assert append(manager, log) == 1
    assert house.events == []


def test_full_disk_never_tears_a_batch() -> None:
    house = House()
    manager = house.load()
    log = filled(made(manager)[0], 1)
    house.files.script.add(Fault(on="pwrite", path="*.log", code=errno.ENOSPC, kept=40))

    with pytest.raises(KafkaStorageError):
        append(manager, log)

    assert house.files.stat(f"/a/orders-0/{0:020}.log").size == log.size
    assert append(manager, log) == 1


def test_log_goes_on_when_a_roll_has_found_no_space() -> None:
    house = House()
    manager = house.load()
    log = filled(made(manager)[0], 5)
    for call, path in (("pwrite", "*.timeindex"), ("append", "*.snapshot"), ("create", "*.log")):
        house.files.script.add(Fault(on=call, path=path, code=errno.ENOSPC))
        with pytest.raises(KafkaStorageError, match="No space left"):
            append(manager, log)

    offset = append(manager, log)

    assert (offset, log.base_offsets) == (5, (0, 5))
    assert bytes_of(read(log, 0)) != b""
    assert online(manager) == [True, True]


@pytest.mark.parametrize("code", (errno.ENOSPC, errno.EDQUOT, errno.EMFILE))
def test_directory_is_offline_when_a_refused_append_cannot_be_taken_back(code: int) -> None:
    house = House()
    manager = house.load()
    log = filled(made(manager)[0], 1)
    house.files.script.add(Fault(on="create", path="*.timeindex", code=code))
    house.files.script.add(Fault(on="truncate", path="*.log", code=code, times=9))
    log.roll()

    with pytest.raises(KafkaStorageError):
        append(manager, log)
    found = (log.is_torn, online(manager))
    manager.close()
    house.files.script.reset()

    assert found == (True, [False, True])
    assert house.load().logs[partition()].bounds.log_end == 1


def test_append_without_a_descriptor_is_refused_and_leaves_the_log_whole() -> None:
    house = House()
    manager = house.load()
    log = filled(made(manager)[0], 1)
    manager.tools.table.close()
    house.files.script.add(Fault(on="open", path="*.log", code=errno.EMFILE, times=2))

    with pytest.raises(KafkaStorageError, match="Too many open files"):
        append(manager, log)
    house.files.script.reset()

    assert (online(manager), append(manager, log)) == ([True, True], 1)


def test_epochs_are_written_later_when_there_was_no_space_for_them() -> None:
    house = House()
    manager = house.load()
    log = filled(made(manager)[0], 1, epoch=1)
    house.files.script.add(Fault(on="append", path="*epoch-checkpoint.tmp", code=errno.ENOSPC))
    with pytest.raises(KafkaStorageError, match="No space left"):
        append(manager, log, epoch=2)

    append(manager, log, epoch=2)
    log.flush()
    house.files.crash()

    assert house.load().logs[partition()].epochs.entries == log.epochs.entries
    assert [entry.epoch for entry in log.epochs.entries] == [1, 2]


def test_directory_is_offline_when_an_aborted_transaction_cannot_be_noted() -> None:
    house = House()
    manager = house.load()
    log = made(manager)[0]
    follow(log, produced(0, is_transactional=True))
    house.files.script.add(Fault(on="*", path="*.txnindex", code=errno.ENOSPC, times=9))

    with pytest.raises(KafkaStorageError), manager.using(log):
        lead(log, marker(), origin=Origin.COORDINATOR)

    assert online(manager) == [False, True]


def test_directory_is_offline_when_a_truncation_stops_half_way() -> None:
    house = House()
    manager = house.load()
    log = filled(made(manager)[0], 3)
    house.files.script.add(Fault(on="*", path="*epoch-checkpoint*", code=errno.ENOSPC, times=9))

    with pytest.raises(KafkaStorageError), manager.using(log):
        log.truncate_to(0)

    assert online(manager) == [False, True]


def test_failing_disk_takes_its_directory_offline_with_its_logs() -> None:
    house = House()
    manager = house.load()
    lost, other, also_lost = made(manager, 0, 1, 2)
    house.files.script.add(Fault(on="pwrite", path="/a/*"))

    with pytest.raises(KafkaStorageError, match=r"/a/orders-0: .*Input/output error"):
        append(manager, lost)

    assert list(manager.logs) == [partition(1)]
    assert append(manager, other) == 0
    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        append(manager, also_lost)
    assert house.events == [
        f"/a is offline with 2 logs: [Errno 5] Input/output error: '/a/orders-0/{0:020}.log'"
    ]


def test_directory_fails_once() -> None:
    house = House()
    manager = house.load()

    for words in ("first", "second"):
        manager.fail(manager.directories[0], OSError(errno.EIO, words))

    assert house.events == ["/a is offline with 0 logs: [Errno 5] first"]


def test_directory_goes_offline_although_its_files_cannot_be_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = House().load()
    log = made(manager)[0]

    def refuse(_: Log) -> None:
        raise OSError(errno.EIO, "close")

    monkeypatch.setattr(Log, "forget_files", refuse)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    assert not manager.has(log)


@pytest.mark.parametrize("code", (errno.EMFILE, errno.ENFILE, errno.EDQUOT, errno.ENOSPC))
def test_call_is_refused_when_something_is_short_for_the_moment(code: int) -> None:
    manager = House().load()
    log = made(manager)[0]

    with pytest.raises(KafkaStorageError, match="/a/orders-0: "), manager.using(log):
        raise OSError(code, "short")

    assert online(manager) == [True, True]


def test_damage_beside_the_records_is_told_to_the_caller() -> None:
    manager = House().load()
    log = made(manager)[0]

    with pytest.raises(KafkaStorageError, match="/x: odd; mend it"), manager.using(log):
        raise DamagedFileError("odd", path="/x", remedy="mend it")

    assert online(manager) == [True, True]


@pytest.mark.parametrize("kind", (IndexOrderError, SegmentOverflowError))
def test_entry_without_a_place_in_its_index_is_told_to_the_caller(
    kind: type[UnfitEntryError],
) -> None:
    manager = House().load()
    log = made(manager)[0]

    with pytest.raises(KafkaStorageError, match="/a/orders-0: 6 after 7"), manager.using(log):
        raise kind("6 after 7")

    assert online(manager) == [True, True]


def test_wrong_records_stay_what_they_are() -> None:
    manager = House().load()
    log = made(manager)[0]

    with pytest.raises(CorruptMessageError), manager.using(log):
        raise CorruptMessageError("odd")

    assert online(manager) == [True, True]


def test_missing_descriptor_is_no_reason_to_go_offline_when_a_log_is_refused() -> None:
    manager = House().load()
    log = made(manager)[0]

    refusal = manager.refuse(log, OSError(errno.EMFILE, "too many"))

    assert str(refusal) == "/a/orders-0: [Errno 24] too many"
    assert online(manager) == [True, True]


def test_missing_descriptor_is_a_reason_when_it_leaves_a_log_torn() -> None:
    house = House()
    manager = house.load()
    log = filled(made(manager)[0], 3)
    house.files.script.add(Fault(on="open", path="*/orders-0/*", code=errno.EMFILE, times=9))
    manager.tools.table.close()

    with pytest.raises(KafkaStorageError), manager.using(log):
        log.truncate_to(1)

    assert online(manager) == [False, True]


def test_missing_space_is_one_when_a_log_is_refused() -> None:
    manager = House().load()
    log = made(manager)[0]

    manager.refuse(log, OSError(errno.ENOSPC, "full"))

    assert online(manager) == [False, True]


def test_checkpoint_without_space_is_told_and_written_the_next_time() -> None:
    house = House("/a")
    manager = house.load()
    filled(made(manager)[0], 3).flush()
    path = f"/a/{RECOVERY_POINTS}"
    house.files.script.add(Fault(on="append", path=f"{path}.tmp", code=errno.ENOSPC))

    manager.write_recovery_points()
    size = house.files.stat(path).size
    manager.write_recovery_points()

    assert house.events[0].startswith("/a: a checkpoint could not be written: [Errno 28]")
    assert (size, online(manager)) == (0, [True])
    assert house.files.stat(path).size > 0


def test_checkpoint_that_fails_takes_its_directory_offline() -> None:
    house = House()
    manager = house.load()
    house.files.script.add(Fault(on="append", path="/a/*.tmp"))

    manager.write_recovery_points()

    assert online(manager) == [False, True]


def test_file_that_cannot_be_removed_is_told() -> None:
    house = House()
    manager = house.load()
    made(manager)
    house.files.script.add(Fault(on="remove", path="/a/*", times=9))

    manager.delete(partition())
    house.clock.advance(seconds=60)

    assert "could not be removed: [Errno 5]" in house.events[0]
    assert online(manager) == [True, True]


def test_checkpoints_say_of_a_directory_what_its_logs_and_copies_have() -> None:
    manager = House("/a", config=LogConfig()).load()
    started, whole = (filled(log, 4) for log in made(manager, 0, 1))
    started.delete_records(2)
    started.flush()
    stock = stock_of(manager)

    found = {
        name: {each.partition: offset for each, offset in offsets.items()}
        for name in (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS)
        for offsets in (stock.checkpoint(manager.directories[0], name),)
    }

    assert stock.all_logs() == [started, whole]
    assert found == {
        RECOVERY_POINTS: {0: 4, 1: 0},
        LOG_START_OFFSETS: {0: 2},
        HIGH_WATERMARKS: {0: 4, 1: 4},
    }


def test_checkpoints_forget_a_partition_that_is_gone() -> None:
    house = House("/a")
    manager = house.load()
    made(manager)
    manager.write_high_watermarks()
    manager.delete(partition())

    stock_of(manager).forget_checkpoints(partition(), manager.directories[0])

    assert read_offset_checkpoint(house.files, f"/a/{HIGH_WATERMARKS}") == {}


def test_directory_whose_disk_refuses_is_left_aside_and_work_goes_on() -> None:
    manager = House().load()
    stock = stock_of(manager)

    with stock.failing(manager.directories[0]):
        _find_it_gone()

    assert stock.online == [manager.directories[1]]


def _find_it_gone() -> None:
    raise OSError(errno.EIO, "gone")
