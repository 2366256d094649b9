"""Many logs are created in parallel, with few fsyncs; one that fails does not affect the others."""

import errno

import pytest

from cordwood.core.errors import InvalidPartitionsError, KafkaStorageError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.checkpoints.checkpoint_files import LOG_START_OFFSETS
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.bulk_log_creation import BulkLogCreation
from cordwood.storage.manager.log_manager import LogManager
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import filled
from tests.unit.storage.manager_samples import (
    ORDERS_ID,
    HeldWorker,
    LogManagerHarness,
    create_logs,
    partition,
)


def placed(manager: LogManager, *numbers: int) -> BulkLogCreation:
    new = BulkLogCreation(manager)
    for _ in new.place([(partition(each), ORDERS_ID) for each in numbers]):
        continue
    return new


def finished(new: BulkLogCreation) -> dict[TopicPartition, KafkaStorageError]:
    """Run a creation to its end; return the errors."""
    for jobs in new.run():
        for job in jobs:
            job.exception()
    return new.errors


def created(manager: LogManager, *numbers: int) -> dict[TopicPartition, KafkaStorageError]:
    return finished(placed(manager, *numbers))


def test_logs_are_found_once_their_directories_are_synced() -> None:
    manager = LogManagerHarness("/a").load()
    steps = placed(manager, 0, 1).run()

    seen = [len(manager.logs) for jobs in steps if jobs]
    assert seen == [0, 0]
    assert [*manager.logs] == [partition(0), partition(1)]
    assert manager.topic_id(partition(0)) == ORDERS_ID


def test_creation_takes_two_fsyncs_a_log_and_one_a_directory() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    syncs = harness.files.script.add(FileFault(on="sync*", code=0, times=999))

    refused = created(manager, *range(20))

    assert refused == {}
    assert syncs.met == 2 * 20 + 2
    assert len(manager.logs) == 20


def test_logs_are_created_on_four_threads() -> None:
    worker = HeldWorker()
    manager = LogManagerHarness("/a").load(worker)

    jobs = next(each for each in placed(manager, *range(10)).run() if each)

    assert len(jobs) == len(worker.held) == 4


def test_created_logs_survive_a_crash_with_their_topic_ids() -> None:
    harness = LogManagerHarness()

    created(harness.load(), 0, 1)
    harness.files.crash()

    manager = harness.load()
    assert [manager.topic_id(partition(each)) for each in (0, 1)] == [ORDERS_ID, ORDERS_ID]


def test_logs_of_two_creations_are_spread_together() -> None:
    harness = LogManagerHarness("/a", "/b")
    manager = harness.load()
    first, second = placed(manager, 0), placed(manager, 1)

    finished(first)
    finished(second)

    assert (harness.names("/a"), harness.names("/b")) == (["orders-0"], ["orders-1"])
    assert not +manager.being_created


def test_cancelled_creation_leaves_no_place_taken() -> None:
    manager = LogManagerHarness("/a", "/b").load()

    placed(manager, 0).cancel()

    assert placed(manager, 0).directory_ids() == {
        partition(0): manager.directories[0].meta and manager.directories[0].meta.directory_id
    }


def test_settings_that_change_during_the_creation_are_applied() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    steps = placed(manager, 0).run()
    next(jobs for jobs in steps if jobs)

    harness.config = LogConfig(retention_ms=7)
    list(steps)

    assert manager.logs[partition()].config.retention_ms == 7


def test_logs_are_offline_if_their_directory_cannot_be_synced() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.script.add(FileFault(on="sync_directory", path="/a", code=errno.ENOSPC))

    refused = created(manager, 0, 1)

    assert [*refused] == [partition(0)]
    assert [each.is_online for each in manager.directories] == [False, True]
    assert harness.names("/b") == ["orders-1"]
    with pytest.raises(KafkaStorageError, match="/a is offline"):
        manager.get(partition(0))


def test_log_that_fails_unexpectedly_is_the_only_rejected_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = LogManagerHarness("/a").load()

    def broken(files: Files, directory: str, *, topic_id: Uuid) -> None:
        if directory == "/a/orders-0":
            raise IndexError("a defect")

    monkeypatch.setattr(log_creation, "write_partition_metadata", broken)

    refused = created(manager, 0, 1)

    assert str(refused[partition(0)]) == "/a/orders-0: the log could not be created: a defect"
    assert [*manager.logs] == [partition(1)]


def test_log_is_not_created_in_place_of_one_that_could_not_be_deleted() -> None:
    manager = LogManagerHarness().load()
    (former,) = create_logs(manager)

    refused = created(manager, 0)

    assert "an earlier log of this name could not be deleted" in str(refused[partition()])
    assert manager.logs[partition()] is former


def deleted_before(harness: LogManagerHarness) -> LogManager:
    """Return a manager whose checkpoints contain a deleted partition."""
    manager = harness.load()
    filled(create_logs(manager)[0], 5).delete_records(5)
    manager.checkpoints.write_all(LOG_START_OFFSETS)
    log_renames.delete(manager, partition())
    return manager


def test_bulk_log_does_not_inherit_the_checkpoints_of_a_deleted_one() -> None:
    harness = LogManagerHarness("/a")
    manager = deleted_before(harness)

    created(manager, 0)
    harness.files.crash()

    assert harness.load().logs[partition()].bounds.log_start == 0


def test_log_is_created_elsewhere_if_old_checkpoints_cannot_be_replaced() -> None:
    harness = LogManagerHarness("/a", "/b")
    manager = deleted_before(harness)
    harness.files.script.add(FileFault(on="append", path="/a/*.tmp", code=errno.ENOSPC))

    refused = created(manager, 0)

    assert refused == {}
    assert (harness.names("/a", ending="-0"), harness.names("/b")) == ([], ["orders-0"])


def test_bulk_logs_are_spread_over_the_directories() -> None:
    harness = LogManagerHarness()
    manager = harness.load()

    created(manager, 0, 1, 2, 3)

    assert harness.names("/a") == ["orders-0", "orders-2"]
    assert harness.names("/b") == ["orders-1", "orders-3"]


def test_logs_open_files_through_the_shared_cache() -> None:
    harness = LogManagerHarness()
    manager = harness.load()

    created(manager, 0)
    manager.close()

    assert [*harness.load().logs] == [partition(0)]


def test_log_without_space_leaves_no_files_and_is_created_in_another_directory() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.script.add(
        FileFault(on="create", path="/a/orders-0/*", code=errno.ENOSPC, times=2)
    )

    refused = created(manager, 0)

    assert refused == {}
    assert harness.names("/a") == []
    assert harness.names("/b") == ["orders-0"]


def test_log_without_space_anywhere_is_the_only_rejected_one() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.script.add(
        FileFault(on="create", path="/?/orders-0/*", code=errno.ENOSPC, times=9)
    )

    refused = created(manager, 0, 1)

    assert [*refused] == [partition(0)]
    assert [*manager.logs] == [partition(1)]


def test_failing_directory_is_offline_and_its_logs_are_created_elsewhere() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.script.add(FileFault(on="create", path="/a/orders-0/*"))

    refused = created(manager, 0, 1)

    assert refused == {}
    assert not manager.directories[0].is_online
    assert [manager.logs[partition(each)].directory for each in (0, 1)] == [
        "/b/orders-0",
        "/b/orders-1",
    ]


def test_log_whose_directory_fails_before_it_is_found_is_offline() -> None:
    manager = LogManagerHarness().load()
    new = placed(manager, 0)
    steps = new.run()
    for _ in range(2):
        next(jobs for jobs in steps if jobs)

    manager.fail(manager.directories[0], OSError("gone"))
    list(steps)

    assert [*new.errors] == [partition(0)]
    with pytest.raises(KafkaStorageError, match="offline: gone"):
        manager.get(partition(0))


def test_log_whose_directory_fails_before_it_is_created_is_placed_elsewhere() -> None:
    manager = LogManagerHarness().load()
    new = placed(manager, 0)

    manager.fail(manager.directories[0], OSError("gone"))
    refused = finished(new)

    assert refused == {}
    assert manager.logs[partition()].directory == "/b/orders-0"


def test_log_is_not_created_where_a_directory_exists() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.make_directory("/b/orders-0")

    refused = created(manager, 0)

    assert "has not been loaded" in str(refused[partition(0)])


def test_no_log_is_placed_without_a_directory() -> None:
    manager = LogManagerHarness().load()
    for directory in manager.directories:
        manager.fail(directory, OSError("gone"))

    refused = created(manager, 0)

    assert "orders-0: no log directory is online" in str(refused[partition()])


def test_invalid_partition_is_rejected() -> None:
    with pytest.raises(InvalidPartitionsError):
        placed(LogManagerHarness().load(), -1)


def test_logs_are_placed_and_published_a_few_a_step() -> None:
    manager = LogManagerHarness("/a").load()
    new = BulkLogCreation(manager)
    wanted = [(partition(each), ORDERS_ID) for each in range(45)]

    steps = [len(manager.logs) for _ in new.place(wanted)]
    found = [len(manager.logs) for _ in new.run()]

    assert steps == [0, 0, 0]
    assert found[-2:] == [20, 40]
    assert len(manager.logs) == 45
