"""Which logs there are, and in which directory each of them is: those in use, and apart from them
the copies on their way from another directory.

A partition has one place. It is known of before its log is loaded, when its directory has failed,
and when the log itself could not be loaded: then the log counts as offline, not as missing, and
nobody makes a second one.
"""

from collections.abc import Mapping

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.types import TopicName, TopicPartition
from cordwood.storage.log import Log
from cordwood.storage.log_directory import LogDirectory


class Shelf:
    """The logs of one kind by partition; `homes` has those that cannot be used, too."""

    __slots__ = ("_by_home", "_by_topic", "_refusals", "homes", "logs")

    def __init__(self) -> None:
        self._by_home: dict[str, dict[TopicPartition, Log]] = {}
        self._by_topic: dict[TopicName, dict[TopicPartition, Log]] = {}
        self._refusals: dict[TopicPartition, str] = {}
        self.logs: dict[TopicPartition, Log] = {}
        self.homes: dict[TopicPartition, LogDirectory] = {}

    def __contains__(self, log: Log) -> bool:
        return self.logs.get(log.partition) is log

    def claim(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Note where a partition is; LogDirectoryError if it is there twice, or elsewhere too."""
        other = self.homes.get(partition)
        if other is not None:
            raise LogDirectoryError(
                f"{partition} is in {other.path} too",
                path=directory.path,
                remedy="move one of the two away: only you can know which is the right one",
            )
        self.homes[partition] = directory

    def refuse(self, partition: TopicPartition, why: str) -> None:
        """Let a partition's log be offline, alone, as it is."""
        self._refusals[partition] = why

    def put(self, log: Log, directory: LogDirectory) -> None:
        """Let a log be found."""
        partition = log.partition
        self.homes[partition] = directory
        self.logs[partition] = self._by_home.setdefault(directory.path, {})[partition] = log
        self._by_topic.setdefault(partition.topic, {})[partition] = log

    def find(self, partition: TopicPartition) -> Log | None:
        """Return a partition's log, None if there is none; refuses one that is offline."""
        if partition not in self.homes:
            return None
        self.homes[partition].ensure_online()
        if partition in self._refusals:
            raise KafkaStorageError(self._refusals[partition])
        return self.logs[partition]

    def existing(self, partition: TopicPartition) -> Log:
        """Return a partition's log; KafkaStorageError if there is none that can be used."""
        log = self.find(partition)
        if log is None:
            raise KafkaStorageError(f"there is no log of {partition} here")
        return log

    def drop(self, partition: TopicPartition) -> None:
        """Know of a partition no more."""
        home = self.homes.pop(partition)
        del self._by_home[home.path][partition]
        self._forget(partition)

    def lose(self, directory: LogDirectory) -> list[Log]:
        """Take a directory's logs away, but not their places, and return them."""
        lost = self._by_home.pop(directory.path, {})
        for partition in lost:
            self._forget(partition)
        return list(lost.values())

    def refused_in(self, directory: LogDirectory) -> list[TopicPartition]:
        """Return the partitions of one directory whose logs are offline by themselves."""
        return [each for each in self._refusals if self.homes[each] is directory]

    def logs_in(self, directory: LogDirectory) -> Mapping[TopicPartition, Log]:
        """Return the logs of one directory."""
        return self._by_home.get(directory.path, {})

    def count_in(self, directory: LogDirectory) -> int:
        """Return how many logs are there."""
        return len(self.logs_in(directory))

    def logs_of(self, topic: TopicName) -> Mapping[TopicPartition, Log]:
        """Return the logs of one topic."""
        return self._by_topic.get(topic, {})

    def _forget(self, partition: TopicPartition) -> None:
        del self.logs[partition], self._by_topic[partition.topic][partition]
        if not self._by_topic[partition.topic]:
            del self._by_topic[partition.topic]
