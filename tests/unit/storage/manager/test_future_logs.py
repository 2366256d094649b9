"""Tests of future logs: their creation, and the steps of their promotion with a failure at each."""

import errno

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.storage.log.log import Log
from cordwood.storage.manager import future_logs, log_renames
from cordwood.storage.manager.log_manager import LogManager
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import batch, filled, follow
from tests.unit.storage.manager_samples import (
    ORDERS_ID,
    LogManagerHarness,
    create_logs,
    partition,
)


def created(manager: LogManager) -> Log:
    directory = manager.directories[1]
    pending = future_logs.begin_creation(
        manager, partition(), directory=directory, topic_id=ORDERS_ID
    )
    return future_logs.add(manager, pending, directory=directory)


def with_copy(harness: LogManagerHarness) -> LogManager:
    """Return a manager of a log in /a and its durable copy in /b."""
    manager = harness.load()
    filled(create_logs(manager)[0], 2)
    copy = created(manager)
    follow(copy, batch(at=0), batch(at=1))
    copy.flush()
    return manager


def promote(manager: LogManager, *, steps: int | None = None) -> list[Log]:
    """Promote the copy, or make the first steps; return the log that has replaced the former."""
    replaced = list[Log]()
    jobs = future_logs.promotion(manager, partition(), replace=replaced.append)
    for count, job in enumerate(jobs, start=1):
        job.exception()
        if count == steps:
            break
    return replaced


def test_created_future_log_is_durable_and_not_maintained() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)

    log = created(manager)
    harness.files.crash()

    assert manager.futures == {partition(): log}
    assert harness.names("/b")[0].endswith("-future")
    assert not log.lease.is_free


def test_future_log_without_space_is_not_added() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)
    harness.files.script.add(FileFault(on="make_directory", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match="No space left"):
        created(manager)

    assert (manager.futures, manager.is_whole) == ({}, True)
    assert manager.being_created[manager.directories[1].path] == 0


def test_promoted_log_replaces_the_former_one() -> None:
    harness = LogManagerHarness()
    manager = with_copy(harness)

    (log,) = promote(manager)

    assert manager.logs == {partition(): log}
    assert (manager.futures, log.directory, log.lease.is_free) == ({}, "/b/orders-0", True)
    assert harness.names("/a")[0].endswith("-delete")
    harness.clock.advance(seconds=60)
    assert harness.names("/a") == []


@pytest.mark.parametrize("steps", (1, 2, 3))
def test_no_record_is_lost_by_a_crash_after_any_step(steps: int) -> None:
    harness = LogManagerHarness()
    manager = with_copy(harness)

    promote(manager, steps=steps)
    harness.files.crash()
    restarted = harness.load()
    if restarted.get(partition()) is None:
        log_renames.promote(restarted, partition())

    assert restarted.logs[partition()].bounds.log_end == 2


def test_log_has_its_name_again_if_the_copy_cannot_take_it() -> None:
    harness = LogManagerHarness()
    manager = with_copy(harness)
    harness.files.script.add(FileFault(on="rename", path="/b/orders-0", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match="No space left"):
        promote(manager)

    assert harness.names("/a") == ["orders-0"]
    assert manager.logs[partition()].directory == "/a/orders-0"


def test_partition_is_offline_if_it_is_unknown_which_log_has_its_name() -> None:
    harness = LogManagerHarness()
    manager = with_copy(harness)
    harness.files.script.add(FileFault(on="sync_directory", path="/b", code=errno.EIO))

    with pytest.raises(KafkaStorageError):
        promote(manager)

    with pytest.raises(KafkaStorageError):
        manager.get(partition())
    assert harness.names("/a")[0].endswith("-stray")


def test_promotion_ends_if_the_log_is_deleted_meanwhile() -> None:
    harness = LogManagerHarness()
    manager = with_copy(harness)
    jobs = future_logs.promotion(manager, partition(), replace=lambda _: None)
    next(jobs).exception()
    log_renames.delete_future(manager, partition())
    log_renames.delete(manager, partition())

    with pytest.raises(KafkaStorageError, match="deleted while it moved"):
        next(jobs)

    assert (manager.logs, manager.futures) == ({}, {})
    assert all(name.endswith("-delete") for path in ("/a", "/b") for name in harness.names(path))
