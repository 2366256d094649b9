"""Logs are looked after on time, and one that fails keeps nobody from looking after the others."""

import errno

import pytest

from cordwood.storage.checkpoints import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.flusher import Flusher
from cordwood.storage.lease import Stage
from cordwood.storage.log_config import COMPACT, DELETE, LogConfig
from cordwood.storage.manager import LogManager
from cordwood.storage.upkeep import Upkeep, UpkeepSettings
from cordwood.testing.faults import Fault
from tests.unit.storage.log_samples import batch, filled, follow, lead, produced, read
from tests.unit.storage.manager_samples import House, made, partition

ONE = len(batch())
KEPT = LogConfig(segment_bytes=ONE, retention_ms=10_000)
HALF = LogConfig(segment_bytes=10 * ONE, retention_bytes=5 * 10 * ONE + 10)


def begun(house: House, settings: UpkeepSettings | None = None) -> tuple[LogManager, Upkeep]:
    manager = house.load()
    upkeep = Upkeep(manager, Flusher(manager), settings or UpkeepSettings())
    upkeep.start()
    return manager, upkeep


def offsets(house: House, name: str) -> dict[int, int]:
    found = read_offset_checkpoint(house.files, f"/a/{name}")
    return {each.partition: offset for each, offset in found.items()}


def test_retention_looks_after_half_a_minute_and_then_every_five() -> None:
    house = House("/a", config=KEPT)
    manager, _ = begun(house)
    log = filled(made(manager)[0], 3)

    house.clock.advance(ms=29_999)
    before = len(log.base_offsets)
    house.clock.advance(ms=1)
    after = len(log.base_offsets)
    filled(log, 2)
    house.clock.advance(ms=299_999)
    long_after = len(log.base_offsets)
    house.clock.advance(ms=1)

    assert (before, after, long_after, len(log.base_offsets)) == (3, 1, 2, 1)


def test_retention_by_size_leaves_the_segments_and_indexes_that_are_within_it() -> None:
    house = House("/a", config=HALF)
    manager, _ = begun(house)
    log = filled(made(manager)[0], 200)

    house.clock.advance(seconds=30)
    house.clock.advance(seconds=60)

    names = house.files.list(log.directory)
    assert len(log.base_offsets) == 6
    assert sum(name.endswith((".log", ".index", ".timeindex", ".snapshot")) for name in names) == 24


def test_retention_leaves_compacted_logs_and_those_that_somebody_works_on() -> None:
    house = House("/a", config=KEPT)
    manager, upkeep = begun(house)
    held, compacted, free = (filled(log, 3) for log in made(manager, 0, 1, 2))
    held.lease = held.lease.take(Stage.CLEANING, "cleaner")
    compacted.configure(LogConfig(cleanup_policy=frozenset({COMPACT, DELETE}), retention_ms=1))
    house.clock.advance(seconds=20)

    upkeep.delete_old_segments()

    assert [len(log.base_offsets) for log in (held, compacted, free)] == [3, 3, 1]
    assert free.lease.is_free


def test_retention_goes_over_copies_too() -> None:
    house = House(config=KEPT)
    manager, upkeep = begun(house)
    made(manager)
    copy = manager.create_future(partition(), manager.directories[1])
    follow(copy, batch(at=0))
    follow(copy, batch(at=1))
    copy.set_high_watermark(2)
    house.clock.advance(seconds=20)

    upkeep.delete_old_segments()

    assert copy.base_offsets == (2,)


def test_retention_frees_space_on_a_full_disk_at_the_second_try() -> None:
    house = House("/a", config=LogConfig(segment_bytes=ONE, retention_bytes=ONE))
    manager, upkeep = begun(house)
    log = filled(made(manager)[0], 4, epoch=1)
    house.files.script.add(Fault(on="append", path="*epoch-checkpoint.tmp", code=errno.ENOSPC))

    upkeep.delete_old_segments()
    first = len(log.base_offsets)
    upkeep.delete_old_segments()

    assert (first, len(log.base_offsets)) == (4, 1)
    assert "orders-0 could not be looked after: /a/orders-0: [Errno 28]" in house.events[0]
    assert log.lease.is_free


def test_failing_directory_does_not_keep_retention_from_the_others() -> None:
    house = House(config=KEPT)
    manager, upkeep = begun(house)
    _, other, _ = (filled(log, 3) for log in made(manager, 0, 1, 2))
    house.files.script.add(Fault(on="rename", path="/a/orders-0/*"))
    house.clock.advance(seconds=20)

    upkeep.delete_old_segments()

    assert list(manager.logs) == [partition(1)]
    assert len(other.base_offsets) == 1


def test_index_that_contradicts_its_log_does_not_keep_retention_from_the_others() -> None:
    house = House("/a", config=LogConfig(segment_bytes=3 * ONE, retention_ms=10_000))
    manager, upkeep = begun(house)
    lying, other = (filled(log, 4) for log in made(manager, 0, 1))
    index = house.files.open(f"{lying.directory}/{0:020}.timeindex", writable=True)
    index.pwrite(b"\xff" * 4, index.size - 4)
    lying.truncate_to(2)
    house.clock.advance(seconds=20)

    upkeep.delete_old_segments()

    assert (lying.base_offsets, other.base_offsets) == ((0,), (4,))
    assert house.events[0].startswith("orders-0 could not be looked after: /a/orders-0: offset -1")
    assert lying.lease.is_free


def test_pass_over_many_logs_lets_others_have_their_turn() -> None:
    house = House("/a", config=KEPT)
    manager, upkeep = begun(house)
    logs = [filled(log, 3) for log in made(manager, *range(45))]
    house.clock.advance(seconds=20)

    def done() -> int:
        return sum(len(log.base_offsets) == 1 for log in logs)

    upkeep.delete_old_segments()
    turns = [done()]
    house.clock.advance(ms=0)

    assert turns == [20]
    assert done() == 45


def test_pass_ends_when_upkeep_is_stopped() -> None:
    house = House("/a", config=KEPT)
    manager, upkeep = begun(house)
    logs = [filled(log, 3) for log in made(manager, *range(25))]
    house.clock.advance(seconds=20)

    upkeep.delete_old_segments()
    upkeep.stop()
    house.clock.advance(days=1)

    assert [len(log.base_offsets) for log in logs] == [1] * 20 + [3] * 5


@pytest.mark.parametrize(("waited_ms", "recovery_point"), ((59_999, 0), (60_000, 2)))
def test_logs_are_flushed_when_their_time_has_come(waited_ms: int, recovery_point: int) -> None:
    house = House("/a", config=LogConfig(flush_ms=60_000))
    manager, upkeep = begun(house)
    log = filled(made(manager)[0], 2)

    house.clock.advance(ms=waited_ms)
    upkeep.flush_due()

    assert log.bounds.recovery_point == recovery_point


def test_flushes_are_looked_for_every_interval() -> None:
    house = House("/a", config=LogConfig(flush_ms=1))
    manager, _ = begun(house, UpkeepSettings(flush_check_interval_ms=1000))
    log = filled(made(manager)[0], 2)

    house.clock.advance(seconds=30)
    first = log.bounds.recovery_point
    lead(log, batch())
    house.clock.advance(seconds=1)

    assert (first, log.bounds.recovery_point) == (2, 3)


def test_logs_that_have_rolled_are_flushed_and_their_recovery_points_written() -> None:
    house = House("/a", config=LogConfig(segment_bytes=2 * ONE))
    manager, _ = begun(house)
    rolled, short = made(manager, 0, 1)
    filled(rolled, 3)
    filled(short, 1)

    house.clock.advance(seconds=30)

    assert offsets(house, RECOVERY_POINTS) == {0: 3, 1: 0}


def test_log_start_between_segments_is_remembered_until_retention_has_passed() -> None:
    house = House("/a", config=LogConfig(segment_bytes=10 * ONE))
    manager, _ = begun(house)
    filled(made(manager)[0], 45).delete_records(31)

    manager.write_log_starts()
    between = offsets(house, LOG_START_OFFSETS)
    log = manager.logs[partition()]
    log.delete_records(40)
    house.clock.advance(seconds=90)

    assert between == {0: 31}
    assert (log.base_offsets[0], offsets(house, LOG_START_OFFSETS)) == (40, {})


def test_high_watermarks_are_written_every_five_seconds() -> None:
    house = House("/a")
    manager, _ = begun(house)
    filled(made(manager)[0], 2)

    house.clock.advance(ms=4_999)
    before = offsets(house, HIGH_WATERMARKS)
    house.clock.advance(ms=1)

    assert (before, offsets(house, HIGH_WATERMARKS)) == ({}, {0: 2})


def test_high_watermarks_of_many_logs_are_not_taken_at_once() -> None:
    house = House("/a")
    manager, upkeep = begun(house)
    for log in made(manager, *range(45)):
        filled(log, 2)

    upkeep.write_high_watermarks()
    at_once = offsets(house, HIGH_WATERMARKS)
    house.clock.advance(ms=1)

    assert (at_once, offsets(house, HIGH_WATERMARKS)) == ({}, dict.fromkeys(range(45), 2))


def test_idle_producers_are_forgotten() -> None:
    house = House("/a")
    manager, _ = begun(house)
    log = made(manager)[0]
    lead(log, produced(0))

    house.clock.advance(hours=23)
    before = log.producers.is_empty
    house.clock.advance(hours=2)

    assert (before, log.producers.is_empty) == (False, True)


def test_log_that_goes_during_a_pass_is_passed_over() -> None:
    house = House("/a", config=KEPT)
    manager, upkeep = begun(house)
    logs = [filled(log, 3) for log in made(manager, *range(21))]
    house.clock.advance(seconds=20)

    upkeep.delete_old_segments()
    manager.delete(partition(20))
    house.clock.advance(ms=0)

    assert len(logs[20].base_offsets) == 3
    assert house.events == []


def test_segments_that_go_are_not_kept_open_so_that_their_space_is_free() -> None:
    house = House("/a", config=KEPT)
    manager, upkeep = begun(house)
    log = filled(made(manager)[0], 3)
    for offset in range(3):
        read(log, offset)
    house.clock.advance(seconds=20)

    upkeep.delete_old_segments()

    assert log.base_offsets == (3,)
    assert manager.tools.table.open_count == 1
