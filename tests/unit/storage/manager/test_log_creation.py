"""New logs are placed in the least loaded directory; a failed creation leaves no file."""

import errno

import pytest

from cordwood.core.errors import (
    InconsistentTopicIdError,
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
)
from cordwood.storage.checkpoints.checkpoint_files import LOG_START_OFFSETS, RECOVERY_POINTS
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.manager import log_creation, log_renames
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import (
    ORDERS_ID,
    OTHER_ID,
    LogManagerHarness,
    create_logs,
    partition,
)


def test_logs_are_spread_evenly_over_the_directories() -> None:
    harness = LogManagerHarness("/a", "/b", "/c")
    manager = harness.load()

    create_logs(manager, *range(20))

    counts = [len(harness.names(path)) for path in harness.paths]
    assert counts == [7, 7, 6]


def test_log_that_exists_is_returned() -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    assert create_logs(manager)[0] is log
    assert log_creation.create(manager, partition(), topic_id=None) is log


def test_topic_id_is_on_disk_before_the_first_record() -> None:
    harness = LogManagerHarness()
    manager = harness.load()

    create_logs(manager)
    harness.files.crash()

    assert read_partition_metadata(harness.files, "/a/orders-0") == ORDERS_ID


def test_log_of_another_topic_of_the_same_name_is_rejected() -> None:
    harness = LogManagerHarness()
    create_logs(harness.load())
    harness.files.crash()
    manager = harness.load()

    with pytest.raises(InconsistentTopicIdError, match="/a/orders-0: the topic id differs"):
        log_creation.create(manager, partition(), topic_id=OTHER_ID)

    assert manager.topic_id(partition()) == ORDERS_ID


def test_topic_id_is_added_to_a_log_without_one() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log_creation.create(manager, partition(), topic_id=None)
    before = manager.topic_id(partition())

    create_logs(manager)
    harness.files.crash()

    assert before is None
    assert read_partition_metadata(harness.files, "/a/orders-0") == ORDERS_ID


def test_topic_name_must_be_legal() -> None:
    harness = LogManagerHarness()
    manager = harness.load()

    with pytest.raises(InvalidTopicError):
        log_creation.create(manager, partition(topic="a/b"), topic_id=None)


@pytest.mark.parametrize("number", (-1, 1 << 31))
def test_partition_number_must_be_legal(number: int) -> None:
    manager = LogManagerHarness().load()

    with pytest.raises(
        InvalidPartitionsError,
        match="the partition number is not between 0 and 2147483647",
    ):
        log_creation.create(manager, partition(number), topic_id=None)


def test_name_rejected_by_the_file_system_takes_no_directory_offline() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    long = partition(100_000, topic="x" * 249)

    with pytest.raises(KafkaStorageError, match=r"name too long: '/a/xxx.*choose a shorter topic"):
        log_creation.create(manager, long, topic_id=ORDERS_ID)

    assert [directory.is_online for directory in manager.directories] == [True, True]
    assert [harness.names(path) for path in harness.paths] == [[], []]


def test_file_in_the_place_of_a_log_is_left_alone() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    harness.files.create("/a/orders-0").append(b"somebody's")

    with pytest.raises(
        KafkaStorageError, match=r"/a/orders-0: the log could not be created: .*move it away"
    ):
        log_creation.create(manager, partition(), topic_id=ORDERS_ID)

    assert harness.files.stat("/a/orders-0").size == 10
    assert manager.directories[0].is_online


def test_log_is_created_nowhere_while_a_directory_that_was_not_loaded_has_its_name() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.make_directory("/b/orders-0")

    with pytest.raises(
        KafkaStorageError, match="/b/orders-0: the directory exists but has not been loaded"
    ):
        log_creation.create(manager, partition(), topic_id=ORDERS_ID)

    assert harness.names("/a") == []


def test_log_is_created_in_another_directory_when_one_fails() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.script.add(FileFault(on="make_directory", path="/a/*"))

    log = log_creation.create(manager, partition(), topic_id=ORDERS_ID)

    assert log.directory == "/b/orders-0"
    assert [directory.is_online for directory in manager.directories] == [False, True]


def test_log_without_space_leaves_no_files_and_takes_no_directory_offline() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.script.add(
        FileFault(on="append", path="*/partition.metadata.tmp", times=2, code=errno.ENOSPC)
    )

    with pytest.raises(
        KafkaStorageError, match=r"/a/orders-0: the log could not be created: .*No space"
    ):
        log_creation.create(manager, partition(), topic_id=ORDERS_ID)

    assert [harness.names(path) for path in harness.paths] == [[], []]
    assert [directory.is_online for directory in manager.directories] == [True, True]
    assert create_logs(manager)[0].directory == "/a/orders-0"


def test_directory_is_offline_when_the_rest_of_a_log_cannot_be_removed() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.script.add(FileFault(on="append", path="*.metadata.tmp", code=errno.ENOSPC))
    harness.files.script.add(FileFault(on="remove", path="/a/*", times=9))

    log = log_creation.create(manager, partition(), topic_id=ORDERS_ID)

    assert log.directory == "/b/orders-0"
    assert [directory.is_online for directory in manager.directories] == [False, True]


def test_log_is_not_created_while_it_may_be_in_a_directory_that_is_offline() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    with pytest.raises(
        KafkaStorageError,
        match="orders-0: the log cannot be created: log directory /a is offline: ",
    ):
        log_creation.create(manager, partition(), topic_id=ORDERS_ID)

    log = log_creation.create(manager, partition(), topic_id=ORDERS_ID, is_new=True)
    assert log.directory == "/b/orders-0"


def test_log_is_not_created_when_all_directories_are_offline() -> None:
    manager = LogManagerHarness().load()
    for directory in manager.directories:
        manager.fail(directory, OSError(errno.EIO, "gone"))

    with pytest.raises(
        KafkaStorageError, match=r"/a is offline: .*gone; log directory /b is offline"
    ):
        log_creation.create(manager, partition(), topic_id=ORDERS_ID, is_new=True)

    assert not manager.is_serving


def test_new_log_does_not_inherit_the_checkpoints_of_a_deleted_one_after_a_crash() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    filled(create_logs(manager)[0], 5).delete_records(5)
    manager.checkpoints.write_all(LOG_START_OFFSETS)
    manager.checkpoints.write_all(RECOVERY_POINTS)
    log_renames.delete(manager, partition())

    log = create_logs(manager)[0]
    lead(log, batch(), batch())
    log.flush()
    harness.files.crash()

    bounds = harness.load().logs[partition()].bounds
    assert bounds.log_start == 0
    assert bounds.log_end == 2
