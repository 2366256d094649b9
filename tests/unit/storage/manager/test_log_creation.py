"""New logs are placed in the least loaded directory; a failed creation leaves no file."""

import errno

import pytest

from cordwood.core.errors import (
    InconsistentTopicIdError,
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
)
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import LOG_START_OFFSETS, RECOVERY_POINTS
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_creation import BulkLogCreation
from cordwood.storage.manager.log_manager import LogManager
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


# -- in bulk


def placed(manager: LogManager, *numbers: int) -> BulkLogCreation:
    new = log_creation.BulkLogCreation(manager)
    for _ in new.place([(partition(each), ORDERS_ID) for each in numbers]):
        continue
    return new


def published(new: BulkLogCreation) -> dict[TopicPartition, KafkaStorageError]:
    return {name: error for of_some in new.publish() for name, error in of_some.items()}


def created(manager: LogManager, *numbers: int) -> dict[TopicPartition, KafkaStorageError]:
    new = placed(manager, *numbers)
    new.create()
    return published(new)


def test_logs_are_found_once_they_are_published() -> None:
    manager = LogManagerHarness().load()
    new = placed(manager, 0, 1)

    new.create()
    before = dict(manager.logs)
    refused = published(new)

    assert before == {}
    assert refused == {}
    assert [*manager.logs] == [partition(0), partition(1)]
    assert manager.topic_id(partition(0)) == ORDERS_ID


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
    new.create()
    manager.fail(manager.directories[0], OSError("gone"))

    refused = published(new)

    assert [*refused] == [partition(0)]
    with pytest.raises(KafkaStorageError, match="offline: gone"):
        manager.get(partition(0))


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

    with pytest.raises(KafkaStorageError, match="new logs: no log directory is online"):
        placed(manager, 0)


def test_invalid_partition_is_rejected() -> None:
    with pytest.raises(InvalidPartitionsError):
        placed(LogManagerHarness().load(), -1)


def test_logs_are_placed_and_published_a_few_a_step() -> None:
    manager = LogManagerHarness().load()
    new = log_creation.BulkLogCreation(manager)
    wanted = [(partition(each), ORDERS_ID) for each in range(45)]

    steps = [len(manager.logs) for _ in new.place(wanted)]
    new.create()
    found = [len(manager.logs) for _ in new.publish()]

    assert steps == [0, 0, 0]
    assert found == [20, 40, 45]
