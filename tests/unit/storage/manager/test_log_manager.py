"""The manager finds, configures, truncates and closes the logs of all directories."""

import errno
from functools import partial

import pytest

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.types import TopicName
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.checkpoints.clean_shutdown_file import read_clean_shutdown
from cordwood.storage.log.log import Log
from cordwood.storage.log.maintenance_lease import LeaseStage
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_manager import ManagerSettings
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import (
    ORDERS_ID,
    OTHER_ID,
    LogManagerHarness,
    create_future_log,
    create_logs,
    partition,
)

COMPACTED = LogConfig(cleanup_policy=frozenset({COMPACT}))


def offsets(harness: LogManagerHarness, name: str, path: str = "/a") -> dict[int, int]:
    found = read_offset_checkpoint(harness.files, f"{path}/{name}")
    return {each.partition: offset for each, offset in found.items()}


def test_manager_finds_its_logs_and_their_directories() -> None:
    harness = LogManagerHarness()
    manager = harness.load()

    first, second = create_logs(manager, 0, 1)

    assert manager.logs == {partition(0): first, partition(1): second}
    assert manager.directory_of(second).path == "/b"
    assert manager.get(partition(2)) is None
    assert manager.has(first)
    assert manager.is_serving


def test_manager_creates_future_logs_sets_logs_aside_and_promotes() -> None:
    manager = LogManagerHarness().load()
    create_logs(manager, 0, 1, 2)

    copy = create_future_log(manager, partition(0), manager.directories[1])
    futures = dict(manager.futures)
    log_renames.delete_future(manager, partition(0))
    create_future_log(manager, partition(0), manager.directories[1])
    promoted = log_renames.promote(manager, partition(0))
    log_renames.set_aside(manager, partition(1))
    log_renames.delete(manager, partition(2))

    assert futures == {partition(0): copy}
    assert manager.logs == {partition(0): promoted}
    assert manager.futures == {}


def test_error_of_a_disk_is_a_kafka_storage_error() -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    refusal = manager.fail_log(log, OSError(errno.EIO, "gone"))

    assert str(refusal) == "/a/orders-0: [Errno 5] gone"
    assert not manager.has(log)


# -- configuration


def test_configuration_reaches_all_logs_of_a_topic_and_no_other() -> None:
    manager = LogManagerHarness().load()
    create_logs(manager, 0, 1)
    create_future_log(manager, partition(0), manager.directories[1])
    other = log_creation.create(manager, partition(topic="other"), topic_id=None)
    config = LogConfig(retention_ms=1)

    manager.settings = ManagerSettings(config_for=lambda _: config)
    for log in manager.logs_of(TopicName("orders")):
        manager.reconfigure(log)

    assert [log.config == config for log in manager.all_logs()] == [True, True, False, True]
    assert other.config != config


@pytest.mark.parametrize(("config", "is_revoked"), ((LogConfig(), True), (COMPACTED, False)))
def test_cleaner_is_revoked_when_a_topic_is_no_longer_compacted(
    config: LogConfig, *, is_revoked: bool
) -> None:
    manager = LogManagerHarness(config=COMPACTED).load()
    log = create_logs(manager)[0]
    log.lease = log.lease.take(LeaseStage.CLEANING, "cleaner")

    manager.settings = ManagerSettings(config_for=lambda _: config)
    manager.reconfigure(log)

    assert log.lease.is_revoked is is_revoked


def test_changed_limits_apply_immediately() -> None:
    manager = LogManagerHarness().load()
    log = filled(create_logs(manager)[0], 3)

    manager.settings = ManagerSettings(config_for=lambda _: LogConfig(segment_bytes=len(batch())))
    manager.reconfigure(log)
    lead(log, batch())

    assert log.base_offsets == (0, 3)


def test_new_settings_apply_to_new_logs_and_to_reconfigured_ones() -> None:
    manager = LogManagerHarness().load()
    present = create_logs(manager)[0]
    config, producers = LogConfig(retention_ms=1), ProducerStateManagerConfig(id_expiration_ms=1)

    manager.settings = ManagerSettings(config_for=lambda _: config, producers=producers)
    manager.reconfigure(present)
    future = log_creation.create(manager, partition(topic="later"), topic_id=None)

    assert [log.config for log in (present, future)] == [config, config]
    assert [log.producers.config for log in (present, future)] == [producers, producers]


# -- shutdown


def test_closed_manager_marks_its_directories_clean() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    for log in create_logs(manager, 0, 1):
        filled(log, 3)

    manager.close(broker_epoch=17)
    harness.files.crash()

    assert read_clean_shutdown(harness.files, "/a") == (17,)
    assert offsets(harness, RECOVERY_POINTS) == {0: 3}
    assert offsets(harness, HIGH_WATERMARKS) == {0: 3}
    again = harness.load()
    assert [log.bounds.recovery_point for log in again.logs.values()] == [3, 3]


def test_manager_closed_before_loading_writes_no_clean_marker() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.open()

    manager.close()

    assert read_clean_shutdown(harness.files, "/a") is None


def test_second_manager_of_a_directory_is_rejected_until_the_first_is_closed() -> None:
    harness = LogManagerHarness()
    first = harness.load()
    with pytest.raises(LogDirectoryError, match="/a: is in use by another process"):
        harness.open()

    first.close()

    assert harness.load().is_serving


def test_directory_that_fails_while_it_is_closed_is_not_clean_and_the_others_are() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    for log in create_logs(manager, 0, 1):
        filled(log, 1)
    harness.files.script.add(FileFault(on="sync", path="/a/orders-0/*"))

    manager.close()

    marks = [read_clean_shutdown(harness.files, path) for path in ("/a", "/b")]
    assert [mark is not None for mark in marks] == [False, True]
    assert harness.load().is_serving


def test_log_that_cannot_be_closed_prevents_the_clean_marker_and_affects_no_other_log() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    for log in create_logs(manager, 0, 1):
        filled(log, 1)
    harness.files.script.add(FileFault(on="*", path="/a/orders-0/*", code=errno.ENOSPC, times=9))

    manager.close()

    assert read_clean_shutdown(harness.files, "/a") is None
    assert harness.events[0].startswith("/a/orders-0 could not be closed: [Errno 28]")
    assert offsets(harness, RECOVERY_POINTS) == {0: 0, 1: 1}


def test_directory_is_not_clean_when_its_last_checkpoint_cannot_be_written() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    filled(create_logs(manager)[0], 1)
    harness.files.script.add(
        FileFault(on="rename", path=f"/a/{RECOVERY_POINTS}", code=errno.ENOSPC)
    )

    manager.close()

    assert read_clean_shutdown(harness.files, "/a") is None


def test_offline_directory_is_not_changed_and_its_lock_is_released() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    manager.close()

    assert read_clean_shutdown(harness.files, "/a") is None
    assert harness.load().get(partition()) is not None


def test_deleted_directories_wait_for_the_next_start_when_the_manager_is_closed() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    create_logs(manager)
    log_renames.delete(manager, partition())
    manager.close()

    harness.clock.advance(seconds=60)
    left = harness.names("/a")
    harness.load()
    harness.clock.advance(seconds=60)

    assert len(left) == 1
    assert harness.names("/a") == []


def test_closed_manager_rejects_use_creation_and_renames() -> None:
    manager = LogManagerHarness("/a").load()
    log = create_logs(manager)[0]
    manager.close()

    with pytest.raises(KafkaStorageError, match="log directory /a has been closed"):
        manager.using(log).__enter__()
    with pytest.raises(KafkaStorageError, match="log directory /a has been closed"):
        manager.topic_id(partition())
    for change in (log_renames.delete, log_renames.set_aside):
        with pytest.raises(KafkaStorageError, match="log directory /a has been closed"):
            change(manager, partition())
    for number in (0, 1):
        with pytest.raises(KafkaStorageError, match="log directory /a has been closed"):
            log_creation.create(manager, partition(number), topic_id=None)


def test_log_that_is_offline_is_rejected_and_not_created_again() -> None:
    manager = LogManagerHarness().load()
    create_logs(manager)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    for ask in (manager.get, manager.topic_id, partial(log_renames.delete, manager)):
        with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
            ask(partition())
    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        log_creation.create(manager, partition(), topic_id=ORDERS_ID, is_new=True)


def test_checkpoints_stay_when_the_manager_is_closed_before_it_has_loaded() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    filled(create_logs(manager)[0], 3)
    manager.close()

    harness.open().close()

    assert offsets(harness, RECOVERY_POINTS) == {0: 3}


def test_logs_lost_with_a_directory_are_reported_once() -> None:
    harness, lost = LogManagerHarness(), list[Log]()
    manager = harness.load()
    first, second = create_logs(manager, 0, 1)
    manager.on_lost(lost.extend)

    manager.fail(manager.directory_of(first), OSError(errno.EIO, "gone"))
    manager.fail(manager.directory_of(first), OSError(errno.EIO, "gone"))

    assert lost == [first]
    assert manager.has(second)


def test_cleaned_offset_survives_a_restart() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    log = filled(create_logs(manager)[0], 5)

    manager.set_cleaned_to(log, 3)
    manager.close()

    assert harness.load().logs[partition()].bounds.cleaned_to == 3


def test_recreated_log_inherits_no_state() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    manager.set_cleaned_to(filled(create_logs(manager)[0], 5), 4)

    log_renames.delete(manager, partition())
    log = log_creation.create(manager, partition(), topic_id=OTHER_ID)

    assert log.bounds.cleaned_to is None
    assert read_offset_checkpoint(harness.files, f"/a/{CLEANER_OFFSETS}") == {}


def test_future_log_inherits_the_cleaned_offset() -> None:
    manager = LogManagerHarness().load()
    log = filled(create_logs(manager)[0], 5)
    manager.set_cleaned_to(log, 4)
    other = next(each for each in manager.directories if each is not manager.directory_of(log))
    filled(create_future_log(manager, partition(), other), 5)

    assert log_renames.promote(manager, partition()).bounds.cleaned_to == 4


def test_cleaner_of_a_log_has_to_stop_when_its_directory_fails() -> None:
    manager = LogManagerHarness("/a").load()
    log = create_logs(manager)[0]
    log.lease = log.lease.take(LeaseStage.CLEANING, "cleaner")

    manager.fail(manager.directories[0], OSError("gone"))

    assert log.lease.is_revoked
