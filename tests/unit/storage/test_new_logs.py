"""New logs are planned, made elsewhere, and found once they are finished."""

import errno

import pytest

from cordwood.core.errors import InvalidPartitionsError, KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage.manager import LogManager
from cordwood.storage.new_logs import NewLogs
from cordwood.testing.faults import Fault
from tests.unit.storage.manager_samples import ORDERS_ID, House, partition


def begun(manager: LogManager, *numbers: int) -> NewLogs:
    new = manager.new_logs()
    for _ in new.begin([(partition(each), ORDERS_ID) for each in numbers]):
        continue
    return new


def finished(new: NewLogs) -> dict[TopicPartition, KafkaStorageError]:
    return {name: error for of_some in new.finish() for name, error in of_some.items()}


def made(manager: LogManager, *numbers: int) -> dict[TopicPartition, KafkaStorageError]:
    new = begun(manager, *numbers)
    new.make()
    return finished(new)


def test_logs_are_found_once_they_are_finished() -> None:
    manager = House().load()
    new = begun(manager, 0, 1)

    new.make()
    before = dict(manager.logs)
    refused = finished(new)

    assert (before, refused) == ({}, {})
    assert [*manager.logs] == [partition(0), partition(1)]
    assert manager.topic_id(partition(0)) == ORDERS_ID


def test_logs_are_spread_over_the_directories() -> None:
    house = House()
    manager = house.load()

    made(manager, 0, 1, 2, 3)

    assert house.names("/a") == ["orders-0", "orders-2"]
    assert house.names("/b") == ["orders-1", "orders-3"]


def test_logs_open_files_through_the_table_of_all() -> None:
    house = House()
    manager = house.load()

    made(manager, 0)
    manager.close()

    assert [*house.load().logs] == [partition(0)]


def test_log_that_finds_no_room_leaves_nothing_and_is_tried_elsewhere() -> None:
    house = House()
    manager = house.load()
    house.files.script.add(Fault(on="create", path="/a/orders-0/*", code=errno.ENOSPC, times=2))

    refused = made(manager, 0)

    assert refused == {}
    assert (house.names("/a"), house.names("/b")) == ([], ["orders-0"])


def test_log_that_nowhere_finds_room_is_refused_alone() -> None:
    house = House()
    manager = house.load()
    house.files.script.add(Fault(on="create", path="/?/orders-0/*", code=errno.ENOSPC, times=9))

    refused = made(manager, 0, 1)

    assert [*refused] == [partition(0)]
    assert [*manager.logs] == [partition(1)]


def test_disk_that_fails_goes_offline_and_others_take_its_logs() -> None:
    house = House()
    manager = house.load()
    house.files.script.add(Fault(on="create", path="/a/orders-0/*"))

    refused = made(manager, 0, 1)

    assert refused == {}
    assert not manager.directories[0].is_online
    assert [manager.logs[partition(each)].directory for each in (0, 1)] == [
        "/b/orders-0",
        "/b/orders-1",
    ]


def test_log_whose_directory_fails_before_it_is_found_is_offline() -> None:
    manager = House().load()
    new = begun(manager, 0)
    new.make()
    manager.fail(manager.directories[0], OSError("gone"))

    refused = finished(new)

    assert [*refused] == [partition(0)]
    with pytest.raises(KafkaStorageError, match="offline: gone"):
        manager.get(partition(0))


def test_log_is_not_made_where_somebody_has_put_one() -> None:
    house = House()
    manager = house.load()
    house.files.make_directory("/b/orders-0")

    refused = made(manager, 0)

    assert "has not been loaded" in str(refused[partition(0)])


def test_no_log_is_begun_without_a_directory() -> None:
    manager = House().load()
    for directory in manager.directories:
        manager.fail(directory, OSError("gone"))

    with pytest.raises(KafkaStorageError, match="there is no log directory left"):
        begun(manager, 0)


def test_partition_that_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidPartitionsError):
        begun(House().load(), -1)


def test_logs_are_begun_and_finished_a_few_a_step() -> None:
    manager = House().load()
    new = manager.new_logs()
    wanted = [(partition(each), ORDERS_ID) for each in range(45)]

    steps = [len(manager.logs) for _ in new.begin(wanted)]
    new.make()
    found = [len(manager.logs) for _ in new.finish()]

    assert (steps, found) == ([0, 0, 0], [20, 40, 45])
