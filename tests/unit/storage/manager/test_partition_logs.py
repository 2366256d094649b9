"""A partition has one log directory."""

import pytest

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.partition_logs import PartitionLogs
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.log_samples import PARTITION, opened


@pytest.fixture
def directories() -> list[LogDirectory]:
    files = MemoryFiles()
    return [LogDirectory.open(files, path) for path in ("/a", "/b")]


def test_partition_logs_finds_an_added_log(directories: list[LogDirectory]) -> None:
    partition_logs, log = PartitionLogs(), opened()

    partition_logs.put(log, directories[0])

    assert partition_logs.get(PARTITION) == log
    assert partition_logs.require(PARTITION) == log
    assert partition_logs.of_topic(PARTITION.topic) == {PARTITION: log}
    assert log in partition_logs
    assert opened() not in partition_logs
    assert [len(partition_logs.in_directory(each)) for each in directories] == [1, 0]


def test_partition_logs_does_not_find_a_removed_log(directories: list[LogDirectory]) -> None:
    partition_logs, log = PartitionLogs(), opened()
    partition_logs.put(log, directories[0])

    partition_logs.remove(log)

    assert partition_logs.get(PARTITION) is None
    assert not partition_logs.of_topic(PARTITION.topic)
    with pytest.raises(KafkaStorageError, match="t-0: the partition has no log here"):
        partition_logs.require(PARTITION)


@pytest.mark.parametrize("second", (0, 1))
def test_partition_logs_rejects_a_second_place(
    directories: list[LogDirectory], second: int
) -> None:
    partition_logs = PartitionLogs()
    partition_logs.claim(PARTITION, directories[0])

    with pytest.raises(LogDirectoryError, match=r"/[ab]: t-0 is in /a too; move one of the two"):
        partition_logs.claim(PARTITION, directories[second])


def test_log_that_was_rejected_is_offline_alone(directories: list[LogDirectory]) -> None:
    partition_logs = PartitionLogs()
    partition_logs.claim(PARTITION, directories[0])

    partition_logs.mark_offline(PARTITION, "it is odd")

    with pytest.raises(KafkaStorageError, match="it is odd"):
        partition_logs.get(PARTITION)
    assert [partition_logs.offline_in(each) for each in directories] == [[PARTITION], []]


def test_partition_logs_keeps_the_place_of_a_log_that_is_offline(
    directories: list[LogDirectory],
) -> None:
    partition_logs, log = PartitionLogs(), opened()
    partition_logs.put(log, directories[0])
    directories[0].fail(OSError(5, "gone"))

    lost = partition_logs.remove_directory(directories[0])

    assert lost == [log]
    assert partition_logs.remove_directory(directories[1]) == []
    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        partition_logs.get(PARTITION)
