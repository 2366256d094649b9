"""Partitions on this broker, by topic name and by topic id (Kafka: `ReplicaManager`).

`apply` takes the differences between two cluster images (`replica_changes`), at the start and at
every change. A partition that is dropped ends the requests that wait; its log is deleted later.

A partition whose log directory has failed stays hosted and answers KafkaStorageError, so that
clients do not take it for missing. The failure ends every request that waits for it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from cordwood.broker.metadata.replica_changes import ReplicaChange, ReplicaChangeKind
from cordwood.broker.partitions.partition import Partition, TopicIdPartition
from cordwood.broker.partitions.partition_leader import PartitionResources
from cordwood.broker.partitions.topic_metrics import TopicMetrics
from cordwood.core.errors import UnknownTopicIdError, UnknownTopicOrPartitionError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.observability.metrics import Metrics
from cordwood.storage.log.log import Log

TopicRef: TypeAlias = str | Uuid
"""A topic in a request: by name, or by id in the versions that carry ids."""


class HostedPartitions:
    """The hosted partitions of one broker; called on the thread that owns the logs."""

    def __init__(self, resources: PartitionResources, *, metrics: Metrics | None = None) -> None:
        self._resources = resources._replace(on_role=self._notify)
        self._metrics = metrics or Metrics()
        self._topics: dict[TopicRef, dict[int, Partition]] = {}
        self._role_watchers = list[Callable[[TopicPartition], object]]()
        resources.manager.on_lost(self._take_offline)

    @property
    def node_id(self) -> int:
        """The id of this broker."""
        return self._resources.node_id

    def __iter__(self) -> Iterator[Partition]:
        """Yield the partitions that are hosted now."""
        hosted = [each for topic, each in self._topics.items() if isinstance(topic, str)]
        return iter([partition for each in hosted for partition in each.values()])

    def apply(self, change: ReplicaChange) -> None:
        """Add, change or drop one partition; the log of a new one exists, unless it is offline."""
        if change.kind is ReplicaChangeKind.DROP:
            self._drop(change)
            return
        hosted = self._topics.setdefault(change.topic_id, {})
        self._topics[change.topic] = hosted
        partition = hosted.get(change.partition)
        if partition is None:
            partition = hosted[change.partition] = self._new(change, hosted)
        partition.apply(change.state)

    def _new(self, change: ReplicaChange, hosted: Mapping[int, Partition]) -> Partition:
        name = TopicPartition(TopicName(change.topic), PartitionId(change.partition))
        other = next(iter(hosted.values()), None)
        metrics = TopicMetrics(self._metrics, change.topic) if other is None else other.metrics
        identity = TopicIdPartition(change.topic_id, name)
        return Partition(identity, metrics=metrics, resources=self._resources)

    def on_role(self, call: Callable[[TopicPartition], object]) -> None:
        """Add a callback for every later change of the role of a partition.

        Kafka: `onLeadershipChange`. The role has been taken; the callback must not change it.
        """
        self._role_watchers.append(call)

    def _notify(self, name: TopicPartition) -> None:
        for call in self._role_watchers:
            call(name)

    def _drop(self, change: ReplicaChange) -> None:
        hosted = self._topics.get(change.topic_id, {})
        partition = hosted.pop(change.partition, None)
        if partition is None:
            return
        if not hosted:
            del self._topics[change.topic_id], self._topics[change.topic]
            partition.metrics.remove()
        partition.close()

    def get(self, topic: TopicRef, index: int) -> Partition:
        """Return a partition of a topic, given by name or by id.

        Raises UnknownTopicOrPartitionError or UnknownTopicIdError if it is not hosted.
        """
        hosted = self._topics.get(topic)
        if hosted is not None and index in hosted:
            return hosted[index]
        if isinstance(topic, str):
            raise UnknownTopicOrPartitionError(f"there is no partition {index} of {topic!r}")
        words = f"the topic with the id {format_uuid(topic)}"
        if hosted is None:
            raise UnknownTopicIdError(f"{words} is not known")
        raise UnknownTopicOrPartitionError(f"there is no partition {index} of {words}")

    def _take_offline(self, logs: Iterable[Log]) -> None:
        for log in logs:
            partition = self._topics.get(log.partition.topic, {}).get(log.partition.partition)
            if partition is not None:
                partition.lose(log)
