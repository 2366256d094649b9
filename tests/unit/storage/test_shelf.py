"""A partition has one place."""

import pytest

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.shelf import Shelf
from cordwood.testing.files import MemoryFiles
from tests.unit.storage.log_samples import PARTITION, opened


@pytest.fixture
def directories() -> list[LogDirectory]:
    files = MemoryFiles()
    return [LogDirectory.open(files, path) for path in ("/a", "/b")]


def test_shelf_finds_what_was_put_there(directories: list[LogDirectory]) -> None:
    shelf, log = Shelf(), opened()

    shelf.put(log, directories[0])

    assert (shelf.find(PARTITION), shelf.existing(PARTITION)) == (log, log)
    assert shelf.logs_of(PARTITION.topic) == {PARTITION: log}
    assert log in shelf
    assert opened() not in shelf
    assert [shelf.count_in(each) for each in directories] == [1, 0]


def test_shelf_knows_of_nothing_that_was_dropped(directories: list[LogDirectory]) -> None:
    shelf, log = Shelf(), opened()
    shelf.put(log, directories[0])

    shelf.drop(PARTITION)

    assert shelf.find(PARTITION) is None
    assert not shelf.logs_of(PARTITION.topic)
    with pytest.raises(KafkaStorageError, match="there is no log of t-0 here"):
        shelf.existing(PARTITION)


@pytest.mark.parametrize("second", (0, 1))
def test_shelf_refuses_a_second_place(directories: list[LogDirectory], second: int) -> None:
    shelf = Shelf()
    shelf.claim(PARTITION, directories[0])

    with pytest.raises(LogDirectoryError, match=r"/[ab]: t-0 is in /a too; move one of the two"):
        shelf.claim(PARTITION, directories[second])


def test_log_that_was_refused_is_offline_alone(directories: list[LogDirectory]) -> None:
    shelf = Shelf()
    shelf.claim(PARTITION, directories[0])

    shelf.refuse(PARTITION, "it is odd")

    with pytest.raises(KafkaStorageError, match="it is odd"):
        shelf.find(PARTITION)
    assert [shelf.refused_in(each) for each in directories] == [[PARTITION], []]


def test_shelf_keeps_the_place_of_a_log_that_is_offline(directories: list[LogDirectory]) -> None:
    shelf, log = Shelf(), opened()
    shelf.put(log, directories[0])
    directories[0].fail(OSError(5, "gone"))

    lost = shelf.lose(directories[0])

    assert (lost, shelf.lose(directories[1])) == ([log], [])
    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        shelf.find(PARTITION)
