"""Logs are deleted, set aside and promoted; a partition is never in two places."""

import errno
from collections.abc import Callable
from functools import partial

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage.log.maintenance_lease import LeaseStage
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.log_renames import LogDeletion
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import SMALL, batch, filled, follow, lead
from tests.unit.storage.manager_samples import (
    LogManagerHarness,
    create_future_log,
    create_logs,
    partition,
)


def ends(harness: LogManagerHarness) -> dict[TopicPartition, tuple[str, int]]:
    """Return the directory and the end of each log after a crash."""
    harness.files.crash()
    logs = harness.load().logs
    return {each: (log.directory, log.bounds.log_end) for each, log in logs.items()}


def test_deleted_log_is_removed_immediately_and_its_files_after_a_delay() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    filled(create_logs(manager)[0], 3)

    log_renames.delete(manager, partition())
    renamed = harness.names("/a")
    harness.clock.advance(seconds=60)

    assert manager.get(partition()) is None
    assert len(renamed) == 1
    assert renamed[0].startswith("orders-0.")
    assert renamed[0].endswith("-delete")
    assert harness.names("/a") == []


def test_deletion_survives_a_crash() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)

    log_renames.delete(manager, partition())
    harness.files.crash()

    assert harness.load().logs == {}


@pytest.mark.parametrize("length", (200, 249))
def test_name_of_a_deleted_directory_is_at_most_255_bytes(length: int) -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    long = partition(topic="x" * length)
    log_creation.create(manager, long, topic_id=None)

    log_renames.delete(manager, long)

    assert len(harness.names("/a")[0]) <= 255


def test_missing_log_cannot_be_deleted() -> None:
    with pytest.raises(KafkaStorageError, match="orders-0: the partition has no log here"):
        log_renames.delete(LogManagerHarness().load(), partition())


def test_deletion_revokes_the_lease() -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]
    log.lease = log.lease.take(LeaseStage.CLEANING, "cleaner")

    log_renames.delete(manager, partition())

    assert log.lease.is_revoked


def test_failed_deletion_takes_the_directory_offline() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)
    harness.files.script.add(FileFault(on="rename", path="/a/*-delete"))

    with pytest.raises(KafkaStorageError, match="/a/orders-0: "):
        log_renames.delete(manager, partition())

    assert not manager.directories[0].is_online


def test_stray_log_is_not_deleted() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)

    log_renames.set_aside(manager, partition())
    harness.clock.advance(days=1)

    assert manager.get(partition()) is None
    assert harness.names("/a")[0].endswith("-stray")
    assert ends(harness) == {}


def test_future_log_can_be_deleted() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)
    create_future_log(manager, partition(), manager.directories[1])

    log_renames.delete_future(manager, partition())

    assert harness.names("/b")[0].endswith("-delete")
    assert list(manager.logs) == [partition()]
    assert manager.futures == {}


def _with_copy(harness: LogManagerHarness) -> LogManager:
    """Return a manager of a log in /a and its future log in /b."""
    manager = harness.load()
    filled(create_logs(manager)[0], 2)
    copy = create_future_log(manager, partition(), manager.directories[1])
    follow(copy, batch(at=0), batch(at=1))
    return manager


def test_promoted_future_log_replaces_the_log() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)

    log = log_renames.promote(manager, partition())

    assert manager.logs == {partition(): log}
    assert manager.futures == {}
    assert log.directory == "/b/orders-0"
    assert log.bounds.high_watermark == 2
    assert log.bounds.recovery_point == 2
    assert harness.names("/a")[0].endswith("-delete")
    assert lead(log, batch()).first_offset == 2


def test_promotion_survives_a_crash_and_the_old_log_is_removed() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)
    log_renames.promote(manager, partition())

    logs = ends(harness)
    harness.clock.advance(seconds=60)

    assert logs == {partition(): ("/b/orders-0", 2)}
    assert harness.names("/a") == []


def test_future_log_of_a_deleted_log_can_be_promoted() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)
    log_renames.delete(manager, partition())

    log = log_renames.promote(manager, partition())

    assert log.directory == "/b/orders-0"


def test_log_is_renamed_back_when_the_promotion_fails() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)
    harness.files.script.add(FileFault(on="rename", path="/b/orders-0"))

    with pytest.raises(KafkaStorageError, match="/b/orders-0"):
        log_renames.promote(manager, partition())

    assert manager.logs[partition()].directory == "/a/orders-0"
    assert harness.names("/a") == ["orders-0"]
    assert manager.futures == {}


def test_promotion_without_space_leaves_the_future_log() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)
    log_renames.delete(manager, partition())
    harness.files.script.add(FileFault(on="rename", path="/b/orders-0", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match="No space left"):
        log_renames.promote(manager, partition())

    assert list(manager.futures) == [partition()]


def test_promotion_is_rejected_without_a_future_log() -> None:
    manager = LogManagerHarness().load()
    create_logs(manager)

    with pytest.raises(KafkaStorageError, match="orders-0: the partition has no log here"):
        log_renames.promote(manager, partition())


# -- failures half way

CODES = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.ENAMETOOLONG)


def _refused(
    harness: LogManagerHarness, call: int, code: int, ask: Callable[[TopicPartition], object]
) -> bool:
    """Call `change` while one file operation fails; return whether it was rejected."""
    harness.files.script.add(FileFault(on="*", path="/[ab]*", first=call, code=code))
    try:
        ask(partition())
    except KafkaStorageError:
        return True
    finally:
        harness.files.script.reset()
    return False


def _ensure_agreed(harness: LogManagerHarness, manager: LogManager) -> None:
    """Assert that the manager has exactly the logs of its online directories."""
    online = [each.path for each in manager.directories if each.is_online]
    on_disk = [f"{path}/{name}" for path in online for name in harness.names(path)]
    known = {log.directory for log in manager.all_logs()}
    assert known == {each for each in on_disk if each.endswith(("/orders-0", "-future"))}


def _ensure_kept(harness: LogManagerHarness) -> None:
    """Assert that the next start finds the partition once at most, and its records."""
    harness.load()
    found = [f"{path}/{name}" for path in harness.paths for name in harness.names(path)]
    left = [each for each in found if not each.endswith("-delete")]
    assert any(harness.files.stat(f"{each}/{0:020}.log").size for each in left)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("is_all_kept", (False, True))
def test_partition_is_in_one_directory_after_a_promotion_failed_at_any_point(
    code: int, *, is_all_kept: bool
) -> None:
    refused = []
    for call in range(1, 25):
        harness = LogManagerHarness(config=SMALL)
        manager = _with_copy(harness)
        manager.logs[partition()].flush()
        refused.append(_refused(harness, call, code, partial(log_renames.promote, manager)))

        _ensure_agreed(harness, manager)
        pending = range(len(harness.files.pending()))
        harness.files.crash(pending if is_all_kept else ())
        _ensure_kept(harness)

    assert sum(refused) > 5
    assert not refused[-1]


@pytest.mark.parametrize("code", CODES)
def test_log_is_complete_or_deleted_after_a_deletion_failed_at_any_point(code: int) -> None:
    refused = []
    for call in range(1, 5):
        harness = LogManagerHarness()
        manager = harness.load()
        create_logs(manager)
        refused.append(_refused(harness, call, code, partial(log_renames.delete, manager)))

        _ensure_agreed(harness, manager)

    assert refused == [True, True, False, False]


def test_deletion_that_cannot_be_synced_takes_the_directory_offline() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)
    harness.files.script.add(FileFault(on="sync_directory", path="/a", code=errno.EMFILE))

    with pytest.raises(KafkaStorageError, match=r"/a/orders-0.*-delete: .*Too many open files"):
        log_renames.delete(manager, partition())

    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        manager.get(partition())


def test_log_stays_stray_when_its_future_log_may_have_its_name() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)
    harness.files.script.add(FileFault(on="sync_directory", path="/b", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match=r"/b/orders-0: .*No space left"):
        log_renames.promote(manager, partition())

    with pytest.raises(KafkaStorageError, match="log directory /b is offline"):
        manager.get(partition())
    assert harness.names("/a")[0].endswith("-stray")
    assert harness.events[-1].endswith("-stray is kept: /b may have its copy")


def test_directory_is_offline_when_a_log_cannot_be_renamed_back() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)
    harness.files.script.add(FileFault(on="rename", path="/?/orders-0", code=errno.ENOSPC, times=2))

    with pytest.raises(KafkaStorageError, match="/b/orders-0"):
        log_renames.promote(manager, partition())

    assert [directory.is_online for directory in manager.directories] == [False, True]
    assert list(manager.futures) == [partition()]


def test_replaced_log_stays_stray_when_it_cannot_be_deleted() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)
    harness.files.script.add(FileFault(on="rename", path="/a/*-delete", code=errno.ENOSPC))

    log = log_renames.promote(manager, partition())

    assert manager.logs == {partition(): log}
    assert harness.names("/a")[0].endswith("-stray")
    assert "-stray has been replaced and can be removed: " in harness.events[-1]


def test_future_log_that_cannot_be_synced_is_not_promoted() -> None:
    harness = LogManagerHarness()
    manager = _with_copy(harness)
    harness.files.script.add(FileFault(on="sync", path="/b/*", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match=r"-future: .*No space left"):
        log_renames.promote(manager, partition())

    assert manager.logs[partition()].directory == "/a/orders-0"
    assert manager.futures == {}


def test_many_logs_are_deleted_in_steps_with_one_fsync() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    create_logs(manager, *range(45))
    deletion = LogDeletion(manager)
    for number in range(45):
        deletion.add(partition(number))
    assert list(deletion.rename()) == [None] * 45
    syncs = harness.files.script.add(FileFault(on="sync*", code=0, times=99))

    deletion.begin_sync()
    steps = list(deletion.finish())
    harness.clock.advance(seconds=60)

    assert (syncs.met, len(steps)) == (1, 1 + 3)
    assert harness.names("/a") == []
