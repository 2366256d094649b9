"""New logs: where they go, whose they are, and what is left of one that could not be made."""

import errno

import pytest

from cordwood.core.errors import (
    InconsistentTopicIdError,
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
)
from cordwood.storage.partition_metadata import read_partition_metadata
from cordwood.testing.faults import Fault
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import ORDERS_ID, OTHER_ID, House, made, partition


def test_logs_are_spread_evenly_over_the_directories() -> None:
    house = House("/a", "/b", "/c")
    manager = house.load()

    made(manager, *range(20))

    counts = [len(house.names(path)) for path in house.paths]
    assert counts == [7, 7, 6]


def test_log_that_exists_is_returned() -> None:
    manager = House().load()
    log = made(manager)[0]

    assert made(manager)[0] is log
    assert manager.create(partition(), topic_id=None) is log


def test_topic_id_is_on_disk_before_the_first_record() -> None:
    house = House()
    manager = house.load()

    made(manager)
    house.files.crash()

    assert read_partition_metadata(house.files, "/a/orders-0") == ORDERS_ID


def test_log_of_another_topic_of_the_same_name_is_refused() -> None:
    house = House()
    made(house.load())
    house.files.crash()
    manager = house.load()

    with pytest.raises(InconsistentTopicIdError, match="/a/orders-0 belongs to the topic with id"):
        manager.create(partition(), topic_id=OTHER_ID)

    assert manager.topic_id(partition()) == ORDERS_ID


def test_log_that_does_not_say_whose_it_is_belongs_to_who_asks() -> None:
    house = House()
    manager = house.load()
    manager.create(partition(), topic_id=None)
    before = manager.topic_id(partition())

    made(manager)
    house.files.crash()

    assert before is None
    assert read_partition_metadata(house.files, "/a/orders-0") == ORDERS_ID


def test_topic_has_to_have_a_name_that_a_topic_may_have() -> None:
    house = House()
    manager = house.load()

    with pytest.raises(InvalidTopicError):
        manager.create(partition(topic="a/b"), topic_id=None)


@pytest.mark.parametrize("number", (-1, 1 << 31))
def test_partition_has_to_have_a_number_that_a_directory_may_have(number: int) -> None:
    manager = House().load()

    with pytest.raises(InvalidPartitionsError, match="has no number from 0 to 2147483647"):
        manager.create(partition(number), topic_id=None)


def test_name_that_the_file_system_does_not_take_is_refused_and_costs_no_directory() -> None:
    house = House()
    manager = house.load()
    long = partition(100_000, topic="x" * 249)

    with pytest.raises(KafkaStorageError, match=r"name too long: '/a/xxx.*choose a shorter topic"):
        manager.create(long, topic_id=ORDERS_ID)

    assert [directory.is_online for directory in manager.directories] == [True, True]
    assert [house.names(path) for path in house.paths] == [[], []]


def test_copy_whose_name_is_too_long_is_refused_and_the_log_stays() -> None:
    manager = House().load()
    long = partition(topic="x" * 249)
    log = manager.create(long, topic_id=ORDERS_ID)

    with pytest.raises(KafkaStorageError, match=r"-future could not be made: .*choose a shorter"):
        manager.create_future(long, manager.directories[1])

    assert manager.logs == {long: log}
    assert manager.directories[1].is_online


def test_file_in_the_place_of_a_log_is_left_alone() -> None:
    house = House("/a")
    manager = house.load()
    house.files.create("/a/orders-0").append(b"somebody's")

    with pytest.raises(KafkaStorageError, match=r"/a/orders-0 could not be made: .*move it away"):
        manager.create(partition(), topic_id=ORDERS_ID)

    assert house.files.stat("/a/orders-0").size == 10
    assert manager.directories[0].is_online


def test_log_is_made_nowhere_while_a_directory_that_was_not_loaded_has_its_name() -> None:
    house = House()
    manager = house.load()
    house.files.make_directory("/b/orders-0")

    with pytest.raises(KafkaStorageError, match="/b/orders-0 is there and has not been loaded"):
        manager.create(partition(), topic_id=ORDERS_ID)

    assert house.names("/a") == []


def test_log_is_made_in_another_directory_when_one_fails() -> None:
    house = House()
    manager = house.load()
    house.files.script.add(Fault(on="make_directory", path="/a/*"))

    log = manager.create(partition(), topic_id=ORDERS_ID)

    assert log.directory == "/b/orders-0"
    assert [directory.is_online for directory in manager.directories] == [False, True]


def test_log_that_finds_no_space_leaves_nothing_and_costs_no_directory() -> None:
    house = House()
    manager = house.load()
    house.files.script.add(
        Fault(on="append", path="*/partition.metadata.tmp", times=2, code=errno.ENOSPC)
    )

    with pytest.raises(KafkaStorageError, match=r"/a/orders-0 could not be made: .*No space"):
        manager.create(partition(), topic_id=ORDERS_ID)

    assert [house.names(path) for path in house.paths] == [[], []]
    assert [directory.is_online for directory in manager.directories] == [True, True]
    assert made(manager)[0].directory == "/a/orders-0"


def test_directory_is_offline_when_the_rest_of_a_log_cannot_be_removed() -> None:
    house = House()
    manager = house.load()
    house.files.script.add(Fault(on="append", path="*.metadata.tmp", code=errno.ENOSPC))
    house.files.script.add(Fault(on="remove", path="/a/*", times=9))

    log = manager.create(partition(), topic_id=ORDERS_ID)

    assert log.directory == "/b/orders-0"
    assert [directory.is_online for directory in manager.directories] == [False, True]


def test_log_is_not_made_while_it_may_be_in_a_directory_that_is_offline() -> None:
    house = House()
    manager = house.load()
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    with pytest.raises(
        KafkaStorageError, match="orders-0 cannot be made: log directory /a is offline: "
    ):
        manager.create(partition(), topic_id=ORDERS_ID)

    log = manager.create(partition(), topic_id=ORDERS_ID, is_new=True)
    assert log.directory == "/b/orders-0"


def test_log_is_not_made_when_all_directories_are_offline() -> None:
    manager = House().load()
    for directory in manager.directories:
        manager.fail(directory, OSError(errno.EIO, "gone"))

    with pytest.raises(
        KafkaStorageError, match=r"/a is offline: .*gone; log directory /b is offline"
    ):
        manager.create(partition(), topic_id=ORDERS_ID, is_new=True)

    assert not manager.is_serving


def test_new_log_is_not_taken_for_the_deleted_one_of_its_name_after_a_crash() -> None:
    house = House("/a")
    manager = house.load()
    filled(made(manager)[0], 5).delete_records(5)
    manager.write_log_starts()
    manager.write_recovery_points()
    manager.delete(partition())

    log = made(manager)[0]
    lead(log, batch(), batch())
    log.flush()
    house.files.crash()

    bounds = house.load().logs[partition()].bounds
    assert (bounds.log_start, bounds.log_end) == (0, 2)


def test_copy_is_made_in_another_directory_with_the_same_topic_id() -> None:
    house = House()
    manager = house.load()
    made(manager)

    copy = manager.create_future(partition(), manager.directories[1])

    assert house.names("/b", ending="-future") == [copy.directory.removeprefix("/b/")]
    assert read_partition_metadata(house.files, copy.directory) == ORDERS_ID
    assert manager.logs[partition()] is not copy


def test_copy_is_refused_in_the_same_directory_and_twice() -> None:
    manager = House("/a", "/b", "/c").load()
    made(manager)
    with pytest.raises(KafkaStorageError, match="orders-0 is in /a already"):
        manager.create_future(partition(), manager.directories[0])

    manager.create_future(partition(), manager.directories[1])

    with pytest.raises(KafkaStorageError, match="on its way to another directory already"):
        manager.create_future(partition(), manager.directories[2])
