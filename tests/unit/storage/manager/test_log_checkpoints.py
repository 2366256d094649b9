"""Checkpoint files hold the offsets of their directory's logs, however long collecting takes."""

import pytest

from cordwood.core.types import Offset
from cordwood.storage.checkpoints.checkpoint_files import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_renames, log_truncation
from cordwood.storage.manager.log_checkpoints import CheckpointValues
from cordwood.storage.manager.log_manager import LogManager
from tests.unit.storage.log_samples import filled
from tests.unit.storage.manager_samples import HeldWorker, LogManagerHarness, create_logs, partition

OTHER = partition(7)


def offsets(harness: LogManagerHarness, name: str, path: str = "/a") -> dict[int, int]:
    found = read_offset_checkpoint(harness.files, f"{path}/{name}")
    return {each.partition: offset for each, offset in found.items()}


# -- values


def test_values_are_read_at_each_step() -> None:
    manager = LogManagerHarness("/a").load()
    (log,) = create_logs(manager)
    values = CheckpointValues(HIGH_WATERMARKS, {"/a": {OTHER: Offset(5)}})

    values.read(filled(log, 2))
    filled(log, 1)

    assert values.of("/a") == {OTHER: 5, partition(): 2}


def test_values_of_other_directories_are_passed_over() -> None:
    manager = LogManagerHarness("/a", "/b").load()
    values = CheckpointValues(HIGH_WATERMARKS, {"/a": {}})

    for log in create_logs(manager, 0, 1):
        values.read(log)

    assert values.of("/a") == {partition(0): 0}


def test_value_is_removed_when_the_log_has_none_any_more() -> None:
    manager = LogManagerHarness("/a").load()
    (log,) = create_logs(manager)
    filled(log, 20).delete_records(1)
    values = CheckpointValues(LOG_START_OFFSETS, {"/a": {}})
    values.read(log)

    log.truncate_fully(9)
    values.read(log)

    assert values.of("/a") == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    (
        (RECOVERY_POINTS, {0: 4, 1: 0}),
        (LOG_START_OFFSETS, {0: 2}),
        (HIGH_WATERMARKS, {0: 4, 1: 4}),
    ),
)
def test_each_file_has_its_kind_of_offset(name: str, expected: dict[int, int]) -> None:
    manager = LogManagerHarness("/a", config=LogConfig()).load()
    started, _ = (filled(log, 4) for log in create_logs(manager, 0, 1))
    started.delete_records(2)
    started.flush()

    found = manager.checkpoints.values(manager.directories[0], name)

    assert {each.partition: offset for each, offset in found.items()} == expected


# -- collected over several loop turns


def filled_logs(harness: LogManagerHarness, count: int) -> LogManager:
    """Return a manager of logs with two records each."""
    manager = harness.load()
    for log in create_logs(manager, *range(count)):
        filled(log, 2).flush()
    return manager


def test_each_step_reads_twenty_logs_and_the_end_writes_the_file() -> None:
    harness = LogManagerHarness("/a")
    manager = filled_logs(harness, 45)

    steps = manager.checkpoints.collect_and_write(HIGH_WATERMARKS)
    before_the_end = [offsets(harness, HIGH_WATERMARKS) for _ in steps]

    assert before_the_end == [{}, {}]
    assert offsets(harness, HIGH_WATERMARKS) == dict.fromkeys(range(45), 2)


def test_log_that_is_truncated_between_two_steps_is_read_again() -> None:
    harness = LogManagerHarness("/a")
    manager = filled_logs(harness, 21)
    steps = manager.checkpoints.collect_and_write(RECOVERY_POINTS)
    next(steps)

    log_truncation.truncate(manager, {partition(0): 1})
    list(steps)

    assert offsets(harness, RECOVERY_POINTS) == {0: 1, **dict.fromkeys(range(1, 21), 2)}


def test_log_that_is_deleted_and_created_between_two_steps_has_no_old_value() -> None:
    harness = LogManagerHarness("/a")
    manager = filled_logs(harness, 21)
    steps = manager.checkpoints.collect_and_write(HIGH_WATERMARKS)
    next(steps)

    log_renames.delete(manager, partition(0))
    create_logs(manager, 0)
    list(steps)

    assert offsets(harness, HIGH_WATERMARKS) == dict.fromkeys(range(1, 21), 2)


def test_log_that_is_deleted_before_its_step_is_passed_over() -> None:
    harness = LogManagerHarness("/a")
    manager = filled_logs(harness, 21)
    steps = manager.checkpoints.collect_and_write(HIGH_WATERMARKS)
    next(steps)

    log_renames.delete(manager, partition(20))
    list(steps)

    assert offsets(harness, HIGH_WATERMARKS) == dict.fromkeys(range(20), 2)


def test_directory_that_fails_between_two_steps_is_not_written() -> None:
    harness = LogManagerHarness("/a", "/b")
    manager = filled_logs(harness, 40)
    steps = manager.checkpoints.collect_and_write(HIGH_WATERMARKS)
    next(steps)

    manager.fail(manager.directories[0], OSError("gone"))
    list(steps)

    assert offsets(harness, HIGH_WATERMARKS) == {}
    assert offsets(harness, HIGH_WATERMARKS, "/b") == dict.fromkeys(range(1, 40, 2), 2)


# -- collected at once


def test_checkpoints_are_written_by_the_worker_from_the_values_of_the_moment() -> None:
    harness, worker = LogManagerHarness("/a"), HeldWorker()
    manager = harness.load(worker)
    log = filled(create_logs(manager)[0], 2)

    pendings = manager.checkpoints.write_all(HIGH_WATERMARKS)
    filled(log, 1)
    before = offsets(harness, HIGH_WATERMARKS)
    worker.go_on()

    assert before == {}
    assert offsets(harness, HIGH_WATERMARKS) == {0: 2}
    assert [pending.done() for pending in pendings] == [True]


def test_checkpoints_name_the_logs_of_their_directory() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    for log in create_logs(manager, 0, 1):
        filled(log, 3).flush()
    filled(manager.logs[partition(1)], 20).delete_records(1)

    manager.checkpoints.write_all(RECOVERY_POINTS)
    manager.checkpoints.write_all(LOG_START_OFFSETS)

    assert [offsets(harness, RECOVERY_POINTS, path) for path in ("/a", "/b")] == [{0: 3}, {1: 3}]
    assert [offsets(harness, LOG_START_OFFSETS, path) for path in ("/a", "/b")] == [{}, {1: 1}]


def test_checkpoints_of_directories_that_are_not_loaded_are_left_alone() -> None:
    harness = LogManagerHarness("/a")
    filled(create_logs(harness.load())[0], 3)
    harness.files.crash()
    manager = harness.open()

    assert manager.checkpoints.write_all(RECOVERY_POINTS) == []
    assert list(manager.checkpoints.collect_and_write(RECOVERY_POINTS)) == []
    assert offsets(harness, RECOVERY_POINTS) == {}


def test_checkpoints_drop_a_deleted_partition() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    create_logs(manager)
    manager.checkpoints.write_all(HIGH_WATERMARKS)
    log_renames.delete(manager, partition())

    manager.checkpoints.forget(partition(), manager.directories[0])

    assert offsets(harness, HIGH_WATERMARKS) == {}


def test_log_that_fails_unexpectedly_keeps_its_value_and_the_others_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = LogManagerHarness("/a")
    manager = filled_logs(harness, 2)
    list(manager.checkpoints.collect_and_write(HIGH_WATERMARKS))
    for log in manager.all_logs():
        filled(log, 1)
    read = CheckpointValues.read

    def broken(values: CheckpointValues, log: Log) -> None:
        if log.partition == partition(0):
            raise IndexError("a defect")
        read(values, log)

    monkeypatch.setattr(CheckpointValues, "read", broken)

    list(manager.checkpoints.collect_and_write(HIGH_WATERMARKS))

    assert offsets(harness, HIGH_WATERMARKS) == {0: 2, 1: 3}
    assert harness.task_failures == 1
    assert "orders-0: maintenance failed: IndexError('a defect')" in harness.events[-1]


def test_values_of_deleted_partitions_are_forgotten_by_the_worker() -> None:
    harness, worker = LogManagerHarness("/a"), HeldWorker()
    manager = harness.load(worker)
    for log in create_logs(manager, *range(30)):
        filled(log, 2)
    manager.checkpoints.write_all(HIGH_WATERMARKS)
    worker.go_on()
    directory = manager.directories[0]
    log_renames.delete(manager, partition(3))

    steps = [*manager.checkpoints.begin_forget({partition(3): directory})]
    before = manager.checkpoints.has_forgotten(partition(3), directory)
    worker.go_on()

    assert (before, manager.checkpoints.has_forgotten(partition(3), directory)) == (False, True)
    assert [len(writes) for writes in steps] == [0, 1]
    assert 3 not in offsets(harness, HIGH_WATERMARKS)
