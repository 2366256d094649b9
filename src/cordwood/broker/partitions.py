"""The partitions that this broker leads, found by their topic's name or by its id.

    host   from now on a topic's partitions are served; with more epochs it has more partitions
    drop   from now on they are not, and whoever waits for one hears of it; the logs go afterwards

A partition whose log directory fails stays known: it answers KafkaStorageError, nobody takes it for
missing, and whoever waits for it is told at once.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

from cordwood.broker.partition import Partition, PartitionTools
from cordwood.broker.traffic import TopicTraffic
from cordwood.core.errors import (
    KafkaStorageError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ids import Uuid, format_uuid
from cordwood.core.types import LeaderEpoch, PartitionId, TopicName, TopicPartition
from cordwood.observability.metrics import Metrics
from cordwood.storage.log import Log

TopicRef: TypeAlias = str | Uuid
"""A topic as a request speaks of it: by name, or from some version on by id."""


class Partitions:
    """What is hosted here. One object a broker; called on the thread that owns the logs."""

    def __init__(self, tools: PartitionTools, metrics: Metrics | None = None) -> None:
        self._tools = tools
        self._metrics = metrics or Metrics()
        self._topics: dict[TopicRef, list[Partition]] = {}
        tools.manager.on_lost(self._lost)

    def host(self, topic: str, *, topic_id: Uuid, leader_epochs: Sequence[int]) -> None:
        """Serve the partitions of a topic, one for each epoch; those served already stay.

        Their logs have been made. From here on all that is in them may be read.
        """
        hosted = self._topics.setdefault(topic, [])
        self._topics[topic_id] = hosted
        traffic = hosted[0].traffic if hosted else TopicTraffic(self._metrics, topic)
        for index in range(len(hosted), len(leader_epochs)):
            partition = Partition(
                TopicPartition(TopicName(topic), PartitionId(index)),
                topic_id=topic_id,
                leader_epoch=LeaderEpoch(leader_epochs[index]),
                traffic=traffic,
                tools=self._tools,
            )
            hosted.append(partition)
            with suppress(KafkaStorageError):  # it says so itself to whoever asks
                partition.take_over()

    def drop(self, topic: str) -> None:
        """Serve the partitions of a topic no more."""
        for partition in self._topics.pop(topic, ()):
            self._topics.pop(partition.topic_id, None)
            partition.traffic.forget()
            partition.close()

    def get(self, topic: TopicRef, index: int) -> Partition:
        """Return a partition of a topic, by whichever it is asked for.

        UnknownTopicOrPartitionError or UnknownTopicIdError where there is none.
        """
        hosted = self._topics.get(topic)
        if hosted is not None and 0 <= index < len(hosted):
            return hosted[index]
        if isinstance(topic, str):
            raise UnknownTopicOrPartitionError(f"there is no partition {index} of {topic!r}")
        words = f"the topic with the id {format_uuid(topic)}"
        if hosted is None:
            raise UnknownTopicIdError(f"{words} is not known")
        raise UnknownTopicOrPartitionError(f"there is no partition {index} of {words}")

    def _lost(self, logs: Iterable[Log]) -> None:
        for log in logs:
            hosted = self._topics.get(log.partition.topic, ())
            for partition in hosted[log.partition.partition : log.partition.partition + 1]:
                partition.tell()


def epoch_at_start(log: Log, *, is_clean: bool) -> LeaderEpoch:
    """Return the epoch to lead a log with whose directory was left in order, or was not.

    After a crash records of the latest epoch may be missing that readers have seen, so others must
    not be written under it.
    """
    latest = log.epochs.latest
    epoch = latest.epoch if latest is not None else 0
    return LeaderEpoch(epoch if is_clean else epoch + 1)
