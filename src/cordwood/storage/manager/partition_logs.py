"""Logs by partition, with their log directories (Kafka: `LogManager.currentLogs`, `futureLogs`).

A partition has one log directory. It is recorded before the log is loaded, and it stays recorded
when the directory fails or when the log cannot be loaded. The log then counts as offline, not as
missing, so that no second log is created for the partition.
"""

from collections.abc import Mapping

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.types import TopicName, TopicPartition
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_directory import LogDirectory


class PartitionLogs:
    """Either the current or the future logs of a manager.

    `logs` holds the usable logs; `directories` also holds the partitions whose log is offline.
    """

    __slots__ = ("_by_directory", "_by_topic", "_load_errors", "directories", "logs")

    def __init__(self) -> None:
        self._by_directory: dict[str, dict[TopicPartition, Log]] = {}
        self._by_topic: dict[TopicName, dict[TopicPartition, Log]] = {}
        self._load_errors: dict[TopicPartition, str] = {}
        self.logs: dict[TopicPartition, Log] = {}
        self.directories: dict[TopicPartition, LogDirectory] = {}

    def __contains__(self, log: Log) -> bool:
        return self.logs.get(log.partition) is log

    def claim(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Record the directory of a partition; LogDirectoryError if one is recorded already."""
        other = self.directories.get(partition)
        if other is not None:
            raise LogDirectoryError(
                f"{partition} is in {other.path} too",
                path=directory.path,
                remedy="move one of the two away (the broker cannot decide which one is right)",
            )
        self.directories[partition] = directory

    def mark_offline(self, partition: TopicPartition, reason: str) -> None:
        """Mark the log of a claimed partition as offline; its directory stays online."""
        self._load_errors[partition] = reason

    def put(self, log: Log, directory: LogDirectory) -> None:
        """Add a usable log."""
        partition = log.partition
        self.directories[partition] = directory
        self.logs[partition] = log
        self._by_directory.setdefault(directory.path, {})[partition] = log
        self._by_topic.setdefault(partition.topic, {})[partition] = log

    def get(self, partition: TopicPartition) -> Log | None:
        """Return the log of a partition, or None; KafkaStorageError if the log is offline."""
        if partition not in self.directories:
            return None
        self.directories[partition].ensure_online()
        if partition in self._load_errors:
            raise KafkaStorageError(self._load_errors[partition])
        return self.logs[partition]

    def require(self, partition: TopicPartition) -> Log:
        """Return the log of a partition; KafkaStorageError if it does not exist or is offline."""
        log = self.get(partition)
        if log is None:
            raise KafkaStorageError(f"{partition}: the partition has no log here")
        return log

    def remove(self, log: Log) -> None:
        """Remove a log; its partition has no log directory any more."""
        directory = self.directories.pop(log.partition)
        del self._by_directory[directory.path][log.partition]
        self._forget(log)

    def remove_directory(self, directory: LogDirectory) -> list[Log]:
        """Remove the logs of a failed directory and return them; their partitions stay offline."""
        lost = list(self._by_directory.pop(directory.path, {}).values())
        for log in lost:
            self._forget(log)
        return lost

    def offline_in(self, directory: LogDirectory) -> list[TopicPartition]:
        """Return the partitions of a directory whose logs could not be loaded."""
        return [each for each in self._load_errors if self.directories[each] is directory]

    def in_directory(self, directory: LogDirectory) -> Mapping[TopicPartition, Log]:
        """Return the usable logs of a directory."""
        return self._by_directory.get(directory.path, {})

    def of_topic(self, topic: TopicName) -> Mapping[TopicPartition, Log]:
        """Return the usable logs of a topic."""
        return self._by_topic.get(topic, {})

    def _forget(self, log: Log) -> None:
        partition = log.partition
        del self.logs[partition], self._by_topic[partition.topic][partition]
        if not self._by_topic[partition.topic]:
            del self._by_topic[partition.topic]
