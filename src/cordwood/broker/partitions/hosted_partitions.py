"""Partitions that this broker leads, by topic name and by topic id (Kafka: `ReplicaManager`).

    host   begins to serve the partitions of a topic; a longer list of epochs adds partitions
    drop   stops serving them and wakes the fetches that wait; their logs are deleted afterwards

A partition whose log directory has failed stays hosted and answers KafkaStorageError, so that
clients do not take it for missing. The failure wakes every fetch that waits for it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

from cordwood.broker.partitions.partition import Partition, TopicIdPartition
from cordwood.broker.partitions.topic_metrics import TopicMetrics
from cordwood.core.errors import (
    KafkaStorageError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import LeaderEpoch, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.observability.metrics import Metrics
from cordwood.records.record_checks import Inspector
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager

TopicRef: TypeAlias = str | Uuid
"""A topic in a request: by name, or by id in the versions that carry ids."""


class HostedPartitions:
    """The hosted partitions of one broker; called on the thread that owns the logs.

    `inspector` returns the record checks to use now: faster ones replace the first ones later.
    """

    def __init__(
        self,
        manager: LogManager,
        flusher: LogFlusher,
        *,
        inspector: Callable[[], Inspector],
        metrics: Metrics | None = None,
    ) -> None:
        self._manager = manager
        self._flusher = flusher
        self._inspector = inspector
        self._metrics = metrics or Metrics()
        self._topics: dict[TopicRef, list[Partition]] = {}
        manager.on_lost(self._notify_of_lost_logs)

    def host(self, topic: str, *, topic_id: Uuid, leader_epochs: Sequence[int]) -> None:
        """Serve the partitions of a topic, one an epoch; those already served do not change.

        Their logs exist. Everything in the logs becomes readable.
        """
        hosted = self._topics.setdefault(topic, [])
        self._topics[topic_id] = hosted
        metrics = hosted[0].metrics if hosted else TopicMetrics(self._metrics, topic)
        for index in range(len(hosted), len(leader_epochs)):
            name = TopicPartition(TopicName(topic), PartitionId(index))
            partition = Partition(
                TopicIdPartition(topic_id, name),
                leader_epoch=LeaderEpoch(leader_epochs[index]),
                metrics=metrics,
                manager=self._manager,
                flusher=self._flusher,
                inspector=self._inspector,
            )
            hosted.append(partition)
            # An offline partition is hosted all the same; its calls raise the error.
            with suppress(KafkaStorageError):
                partition.become_leader()

    def drop(self, topic: str) -> None:
        """Stop serving the partitions of a topic."""
        for partition in self._topics.pop(topic, ()):
            self._topics.pop(partition.topic_id, None)
            partition.metrics.remove()
            partition.close()

    def get(self, topic: TopicRef, index: int) -> Partition:
        """Return a partition of a topic, given by name or by id.

        Raises UnknownTopicOrPartitionError or UnknownTopicIdError if it is not hosted.
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

    def _notify_of_lost_logs(self, logs: Iterable[Log]) -> None:
        for log in logs:
            hosted = self._topics.get(log.partition.topic, ())
            # A log of a dropped topic, or beyond its partitions, gives an empty slice.
            for partition in hosted[log.partition.partition : log.partition.partition + 1]:
                partition.notify_watchers()
