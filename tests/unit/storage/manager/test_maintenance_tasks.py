"""Maintenance runs at its intervals; a failing log does not stop that of the others."""

import errno

import pytest

from cordwood.storage.checkpoints.checkpoint_files import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.log.maintenance_lease import LeaseStage
from cordwood.storage.log_config import COMPACT, DELETE, LogConfig
from cordwood.storage.manager import log_renames
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.maintenance_tasks import MaintenanceSettings, MaintenanceTasks
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import batch, filled, follow, lead, produced, read
from tests.unit.storage.manager_samples import (
    LogManagerHarness,
    create_future_log,
    create_logs,
    partition,
)

ONE = len(batch())
KEPT = LogConfig(segment_bytes=ONE, retention_ms=10_000)
HALF = LogConfig(segment_bytes=10 * ONE, retention_bytes=5 * 10 * ONE + 10)


def begun(
    harness: LogManagerHarness, settings: MaintenanceSettings | None = None
) -> tuple[LogManager, MaintenanceTasks]:
    manager = harness.load()
    tasks = MaintenanceTasks(manager, LogFlusher(manager), settings or MaintenanceSettings())
    tasks.start()
    return manager, tasks


def offsets(harness: LogManagerHarness, name: str) -> dict[int, int]:
    found = read_offset_checkpoint(harness.files, f"/a/{name}")
    return {each.partition: offset for each, offset in found.items()}


def test_retention_runs_after_half_a_minute_and_then_every_five_minutes() -> None:
    harness = LogManagerHarness("/a", config=KEPT)
    manager, _ = begun(harness)
    log = filled(create_logs(manager)[0], 3)

    harness.clock.advance(ms=29_999)
    before = len(log.base_offsets)
    harness.clock.advance(ms=1)
    after = len(log.base_offsets)
    filled(log, 2)
    harness.clock.advance(ms=299_999)
    long_after = len(log.base_offsets)
    harness.clock.advance(ms=1)

    assert before == 3
    assert after == 1
    assert long_after == 2
    assert len(log.base_offsets) == 1


def test_retention_by_size_keeps_the_segments_and_indexes_within_it() -> None:
    harness = LogManagerHarness("/a", config=HALF)
    manager, _ = begun(harness)
    log = filled(create_logs(manager)[0], 200)

    harness.clock.advance(seconds=30)
    harness.clock.advance(seconds=60)

    names = harness.files.list(log.directory)
    assert len(log.base_offsets) == 6
    assert sum(name.endswith((".log", ".index", ".timeindex", ".snapshot")) for name in names) == 24


def test_retention_skips_compacted_logs_and_logs_with_a_lease() -> None:
    harness = LogManagerHarness("/a", config=KEPT)
    manager, tasks = begun(harness)
    held, compacted, free = (filled(log, 3) for log in create_logs(manager, 0, 1, 2))
    held.lease = held.lease.take(LeaseStage.CLEANING, "cleaner")
    compacted.configure(LogConfig(cleanup_policy=frozenset({COMPACT, DELETE}), retention_ms=1))
    harness.clock.advance(seconds=20)

    tasks.delete_old_segments()

    assert [len(log.base_offsets) for log in (held, compacted, free)] == [3, 3, 1]
    assert free.lease.is_free


def test_retention_covers_future_logs() -> None:
    harness = LogManagerHarness(config=KEPT)
    manager, tasks = begun(harness)
    create_logs(manager)
    copy = create_future_log(manager, partition(), manager.directories[1])
    follow(copy, batch(at=0))
    follow(copy, batch(at=1))
    copy.set_high_watermark(2)
    harness.clock.advance(seconds=20)

    tasks.delete_old_segments()

    assert copy.base_offsets == (2,)


def test_retention_frees_space_although_epochs_cannot_be_saved() -> None:
    harness = LogManagerHarness("/a", config=LogConfig(segment_bytes=ONE, retention_bytes=ONE))
    manager, tasks = begun(harness)
    log = filled(create_logs(manager)[0], 4, epoch=1)
    harness.files.script.add(
        FileFault(on="append", path="*epoch-checkpoint.tmp", code=errno.ENOSPC)
    )

    tasks.delete_old_segments()
    tasks.write_recovery_points()

    assert len(log.base_offsets) == 1
    assert log.lease.is_free
    assert log.epoch_file.has_unsaved
    tasks.write_recovery_points()
    assert not log.epoch_file.has_unsaved


def test_failing_directory_does_not_stop_retention_in_the_others() -> None:
    harness = LogManagerHarness(config=KEPT)
    manager, tasks = begun(harness)
    _, other, _ = (filled(log, 3) for log in create_logs(manager, 0, 1, 2))
    harness.files.script.add(FileFault(on="rename", path="/a/orders-0/*"))
    harness.clock.advance(seconds=20)

    tasks.delete_old_segments()

    assert list(manager.logs) == [partition(1)]
    assert len(other.base_offsets) == 1


def test_index_error_of_one_log_does_not_stop_retention_of_the_others() -> None:
    harness = LogManagerHarness("/a", config=LogConfig(segment_bytes=3 * ONE, retention_ms=10_000))
    manager, tasks = begun(harness)
    lying, other = (filled(log, 4) for log in create_logs(manager, 0, 1))
    index = harness.files.open(f"{lying.directory}/{0:020}.timeindex", writable=True)
    index.pwrite(b"\xff" * 4, index.size - 4)
    lying.truncate_to(2)
    harness.clock.advance(seconds=20)

    tasks.delete_old_segments()

    assert lying.base_offsets == (0,)
    assert other.base_offsets == (4,)
    assert harness.events[0].startswith("orders-0: maintenance failed: /a/orders-0: offset -1")
    assert lying.lease.is_free


def test_pass_over_many_logs_runs_in_several_loop_turns() -> None:
    harness = LogManagerHarness("/a", config=KEPT)
    manager, tasks = begun(harness)
    logs = [filled(log, 3) for log in create_logs(manager, *range(45))]
    harness.clock.advance(seconds=20)

    def done() -> int:
        return sum(len(log.base_offsets) == 1 for log in logs)

    tasks.delete_old_segments()
    turns = [done()]
    harness.clock.advance(ms=0)

    assert turns == [20]
    assert done() == 45


def test_sweep_ends_when_tasks_are_stopped() -> None:
    harness = LogManagerHarness("/a", config=KEPT)
    manager, tasks = begun(harness)
    logs = [filled(log, 3) for log in create_logs(manager, *range(25))]
    harness.clock.advance(seconds=20)

    tasks.delete_old_segments()
    tasks.stop()
    harness.clock.advance(days=1)

    assert [len(log.base_offsets) for log in logs] == [1] * 20 + [3] * 5


@pytest.mark.parametrize(("waited_ms", "recovery_point"), ((59_999, 0), (60_000, 2)))
def test_logs_are_flushed_after_flush_ms(waited_ms: int, recovery_point: int) -> None:
    harness = LogManagerHarness("/a", config=LogConfig(flush_ms=60_000))
    manager, tasks = begun(harness)
    log = filled(create_logs(manager)[0], 2)

    harness.clock.advance(ms=waited_ms)
    tasks.flush_due()

    assert log.bounds.recovery_point == recovery_point


def test_due_flushes_are_checked_at_each_interval() -> None:
    harness = LogManagerHarness("/a", config=LogConfig(flush_ms=1))
    manager, _ = begun(harness, MaintenanceSettings(flush_check_interval_ms=1000))
    log = filled(create_logs(manager)[0], 2)

    harness.clock.advance(seconds=30)
    first = log.bounds.recovery_point
    lead(log, batch())
    harness.clock.advance(seconds=1)

    assert first == 2
    assert log.bounds.recovery_point == 3


def test_logs_that_have_rolled_are_flushed_and_their_recovery_points_written() -> None:
    harness = LogManagerHarness("/a", config=LogConfig(segment_bytes=2 * ONE))
    manager, _ = begun(harness)
    rolled, short = create_logs(manager, 0, 1)
    filled(rolled, 3)
    filled(short, 1)

    harness.clock.advance(seconds=30)

    assert offsets(harness, RECOVERY_POINTS) == {0: 3, 1: 0}


def test_log_start_between_segments_is_remembered_until_retention_has_passed() -> None:
    harness = LogManagerHarness("/a", config=LogConfig(segment_bytes=10 * ONE))
    manager, tasks = begun(harness)
    filled(create_logs(manager)[0], 45).delete_records(31)

    tasks.write_log_starts()
    between = offsets(harness, LOG_START_OFFSETS)
    log = manager.logs[partition()]
    log.delete_records(40)
    harness.clock.advance(seconds=90)

    assert between == {0: 31}
    assert log.base_offsets[0] == 40
    assert offsets(harness, LOG_START_OFFSETS) == {}


def test_high_watermarks_are_written_every_five_seconds() -> None:
    harness = LogManagerHarness("/a")
    manager, _ = begun(harness)
    filled(create_logs(manager)[0], 2)

    harness.clock.advance(ms=4_999)
    before = offsets(harness, HIGH_WATERMARKS)
    harness.clock.advance(ms=1)

    assert before == {}
    assert offsets(harness, HIGH_WATERMARKS) == {0: 2}


def test_high_watermarks_of_many_logs_are_read_in_several_loop_turns() -> None:
    harness = LogManagerHarness("/a")
    manager, tasks = begun(harness)
    for log in create_logs(manager, *range(45)):
        filled(log, 2)

    tasks.write_high_watermarks()
    at_once = offsets(harness, HIGH_WATERMARKS)
    harness.clock.advance(ms=1)

    assert at_once == {}
    assert offsets(harness, HIGH_WATERMARKS) == dict.fromkeys(range(45), 2)


def test_idle_producers_expire() -> None:
    harness = LogManagerHarness("/a")
    manager, _ = begun(harness)
    log = create_logs(manager)[0]
    lead(log, produced(0))

    harness.clock.advance(hours=23)
    before = log.producers.is_empty
    harness.clock.advance(hours=2)

    assert not before
    assert log.producers.is_empty


def test_log_deleted_during_a_pass_is_skipped() -> None:
    harness = LogManagerHarness("/a", config=KEPT)
    manager, tasks = begun(harness)
    logs = [filled(log, 3) for log in create_logs(manager, *range(21))]
    harness.clock.advance(seconds=20)

    tasks.delete_old_segments()
    log_renames.delete(manager, partition(20))
    harness.clock.advance(ms=0)

    assert len(logs[20].base_offsets) == 3
    assert harness.events == []


def test_deleted_segments_have_no_open_files() -> None:
    harness = LogManagerHarness("/a", config=KEPT)
    manager, tasks = begun(harness)
    log = filled(create_logs(manager)[0], 3)
    for offset in range(3):
        read(log, offset)
    harness.clock.advance(seconds=20)

    tasks.delete_old_segments()

    assert log.base_offsets == (3,)
    assert manager.options.open_files.open_count == 0
