"""Elections of coordinators: this broker begins or ceases to lead a partition of an internal topic.

Kafka: `RequestHandlerHelper.onLeadershipChange`, `BrokerMetadataPublisher.updateCoordinator`. A
partition that is led in a later epoch gets a new shard, because its log may have been written by
another broker in between.

    image   role           shard of the partition
    leads   leads          elected, if both have the same leader epoch
    other   other          resigned

Roles and images come in separate requests (LeaderAndIsr, UpdateMetadata), so either may be ahead of
the other. The shard waits for the later one of both: a coordinator with an outdated image would
take a new topic for a deleted one, and would drop its markers. It resigns at the earlier one.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from cordwood.broker.coordinators.coordinator_log import CoordinatorLog
from cordwood.broker.metadata.metadata_image import ClusterImage, PartitionImage, TopicImage
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.partitions.partition import Partition
from cordwood.coordination.runtime.coordinator_runtime import CoordinatorRuntime
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.core.errors import KafkaError
from cordwood.core.ports import LoopPorts
from cordwood.core.types import TopicPartition
from cordwood.records.compression import Codec

S = TypeVar("S", bound=CoordinatorShard)


class CoordinatorElections(Generic[S]):
    """The leaderships of one internal topic, applied to the runtime of its shards."""

    def __init__(
        self,
        topic: str,
        runtime: CoordinatorRuntime[S],
        partitions: HostedPartitions,
        *,
        ports: LoopPorts,
        codec: Callable[[], Codec] = lambda: Codec.NONE,
    ) -> None:
        self._topic = topic
        self._runtime = runtime
        self._partitions = partitions
        self._ports = ports
        self._codec = codec
        self._applied: TopicImage | None = None

    def apply(self, image: ClusterImage) -> None:
        """Elect and resign by the image of the cluster, which the partitions have applied."""
        topic = image.topics.get(self._topic)
        former = self._applied
        if topic is former:
            return
        self._applied = topic
        if former is not None and (topic is None or topic.topic_id != former.topic_id):
            self._resign_from(0)
        states = () if topic is None else topic.partitions
        self._resign_from(len(states))
        for number, state in enumerate(states):
            self._follow(number, state)

    def on_role(self, name: TopicPartition) -> None:
        """Elect or resign by the new role of a partition of any topic."""
        topic = self._applied
        if name.topic == self._topic and topic is not None:
            states = topic.partitions
            if name.partition < len(states):
                self._follow(name.partition, states[name.partition])

    def log(self, partition: int) -> CoordinatorLog | None:
        """Return the log of a partition that is coordinated here."""
        log = self._runtime.log(partition)
        assert log is None or isinstance(log, CoordinatorLog)
        return log

    def _resign_from(self, first: int) -> None:
        for number in self._runtime.partitions():
            if number >= first:
                self._runtime.resign(number)

    def _follow(self, number: int, state: PartitionImage) -> None:
        partition = self._led(number, state)
        if partition is None:
            self._runtime.resign(number)
            return
        present = self._runtime.log(number)
        if present is None or present.leader_epoch != state.leader_epoch:
            self._runtime.elect(
                CoordinatorLog(partition, state.leader_epoch, ports=self._ports, codec=self._codec)
            )

    def _led(self, number: int, state: PartitionImage) -> Partition | None:
        """Return the partition if this broker leads it in the epoch of the image."""
        topic = self._applied
        if topic is None or state.leader != self._partitions.node_id:
            return None
        try:
            partition = self._partitions.get(self._topic, number)
            partition.leader(state.leader_epoch)
        except KafkaError:
            return None
        return partition if partition.topic_id == topic.topic_id else None
