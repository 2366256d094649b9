"""State of the cluster in the memory of its controller (Kafka: `ControllerContext`).

Flows read and change it; a fail-over builds it. It belongs to one controller epoch, and is
discarded at the end of that.

    partition   non-existent ──► new ──► online ◄──► offline ──► non-existent
    replica     non-existent ──► new ──► online ◄──► offline ──► deletion started
                deletion started ──► deletion successful ──► non-existent
                deletion started, offline ──► deletion ineligible ──► online, offline
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from cordwood.cluster.controller.context.leadership import (
    EPOCH_DURING_DELETE,
    NO_LEADER_EPOCH,
    Leadership,
)
from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.controller.context.replica_assignment import UNASSIGNED, ReplicaAssignment
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid

ReplicasByBroker: TypeAlias = Mapping[int, Sequence[TopicPartition]]
"""Replicas, as the partitions of each broker."""


class PartitionLifecycle(Enum):
    """States of a partition (Kafka: `PartitionState`)."""

    # Members are compared by identity; the hash of `Enum` is a function of Python.
    __hash__ = object.__hash__

    NEW = "new"
    ONLINE = "online"
    OFFLINE = "offline"
    NON_EXISTENT = "non-existent"


class ReplicaLifecycle(Enum):
    """States of a replica (Kafka: `ReplicaState`)."""

    __hash__ = object.__hash__

    NEW = "new"
    ONLINE = "online"
    OFFLINE = "offline"
    DELETION_STARTED = "deletion started"
    DELETION_SUCCESSFUL = "deletion successful"
    DELETION_INELIGIBLE = "deletion ineligible"
    NON_EXISTENT = "non-existent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """The settings of the broker that is the controller."""

    controller_id: int
    inter_broker_listener: str = "PLAINTEXT"
    is_topic_deletion_enabled: bool = True
    leader_imbalance_percentage: int = 10


@dataclass(slots=True)
class DeletionQueue:
    """Topics whose deletion was requested.

    A deletion that has begun is never taken back. One that is ineligible waits: for a dead broker
    to return, or for a reassignment to complete.
    """

    queued: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    ineligible: set[str] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class ClusterContext:
    """Brokers, topics, leaderships and states."""

    settings: ControllerSettings
    #: The epoch of this controller.
    epoch: int
    #: Registered brokers: live ones, and those that shut down and move their leaderships away.
    brokers: dict[int, LiveBroker] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    topic_ids: dict[str, Uuid] = field(default_factory=dict)
    topic_names: dict[Uuid, str] = field(default_factory=dict)
    topics: dict[str, list[TopicPartition]] = field(default_factory=dict)
    assignments: dict[TopicPartition, ReplicaAssignment] = field(default_factory=dict)
    leaderships: dict[TopicPartition, Leadership] = field(default_factory=dict)
    partition_states: dict[TopicPartition, PartitionLifecycle] = field(default_factory=dict)
    replica_states: dict[int, dict[TopicPartition, ReplicaLifecycle]] = field(default_factory=dict)
    #: Replicas in log directories that have failed, by broker.
    offline_replicas: dict[int, set[TopicPartition]] = field(default_factory=dict)
    deletions: DeletionQueue = field(default_factory=DeletionQueue)
    reassigning: set[TopicPartition] = field(default_factory=set)

    # Brokers

    def register(self, brokers: Iterable[LiveBroker]) -> None:
        """Add brokers, whose log directories have not failed as far as is known."""
        for each in brokers:
            self.brokers[each.broker_id] = each
            self.live.add(each.broker_id)
            self.offline_replicas.pop(each.broker_id, None)

    def unregister(self, broker_ids: Iterable[int]) -> None:
        """Remove brokers."""
        for each in broker_ids:
            self.brokers.pop(each, None)
            self.live.discard(each)
            self.offline_replicas.pop(each, None)

    def begin_shutdown(self, broker_id: int) -> None:
        """Exclude a registered broker from leaderships."""
        self.live.discard(broker_id)

    def is_shutting_down(self, broker_id: int) -> bool:
        """Return whether a registered broker moves its leaderships away."""
        return broker_id in self.brokers and broker_id not in self.live

    def is_online(self, broker_id: int, partition: TopicPartition) -> bool:
        """Return whether a replica is on a live broker, and not in a failed log directory."""
        return broker_id in self.live and self._is_readable(broker_id, partition)

    def offline_among(self, replicas: Iterable[int], partition: TopicPartition) -> list[int]:
        """Return the brokers whose replicas of a partition are not online."""
        live = self.live
        if not self.offline_replicas:
            return [each for each in replicas if each not in live]
        return [each for each in replicas if not self.is_online(each, partition)]

    def is_served(self, broker_id: int, partition: TopicPartition) -> bool:
        """Return whether a replica is online, or is on a broker that is shutting down."""
        return broker_id in self.brokers and self._is_readable(broker_id, partition)

    def _is_readable(self, broker_id: int, partition: TopicPartition) -> bool:
        return partition not in self.offline_replicas.get(broker_id, ())

    # Topics and partitions

    def set_topic_id(self, topic: str, topic_id: Uuid) -> None:
        """Store the id of a topic."""
        self.topic_ids[topic] = topic_id
        self.topic_names[topic_id] = topic

    def assignment(self, partition: TopicPartition) -> ReplicaAssignment:
        """Return the assignment of a partition, an empty one if it is unknown."""
        return self.assignments.get(partition, UNASSIGNED)

    def add_partitions(self, topic: str, partitions: Mapping[int, ReplicaAssignment]) -> None:
        """Add a topic, or partitions to it."""
        known = self.topics.setdefault(topic, [])
        for number, assignment in partitions.items():
            partition = TopicPartition(TopicName(topic), PartitionId(number))
            known.append(partition)
            self.assignments[partition] = assignment

    def assignments_of(self, topic: str) -> dict[int, ReplicaAssignment]:
        """Return the assignments of a topic by partition number, as they are stored."""
        return {each.partition: self.assignments[each] for each in self.topics[topic]}

    def partitions_of(self, topic: str) -> Iterator[tuple[TopicPartition, ReplicaAssignment]]:
        """Yield the partitions of a topic with their assignments."""
        for partition in self.topics.get(topic, ()):
            yield partition, self.assignments[partition]

    def remove_topic(self, topic: str) -> None:
        """Forget a topic."""
        for partition, assignment in self.partitions_of(topic):
            self.leaderships.pop(partition, None)
            self.partition_states.pop(partition, None)
            self.reassigning.discard(partition)
            for broker_id in assignment.replicas:
                self.replica_states.get(broker_id, {}).pop(partition, None)
            del self.assignments[partition]
        for offline in self.offline_replicas.values():
            offline -= {each for each in offline if each.topic == topic}
        self.topics.pop(topic, None)
        topic_id = self.topic_ids.pop(topic, None)
        if topic_id is not None:
            self.topic_names.pop(topic_id, None)
        for names in (self.deletions.queued, self.deletions.begun, self.deletions.ineligible):
            names.discard(topic)

    # Leaderships and states

    def is_deletion_queued(self, partition: TopicPartition) -> bool:
        """Return whether the deletion of a partition's topic was requested."""
        return partition.topic in self.deletions.queued

    def leader_epoch(self, partition: TopicPartition) -> int:
        """Return the leader epoch for a StopReplica request, -2 during a deletion."""
        if self.is_deletion_queued(partition):
            return EPOCH_DURING_DELETE
        leadership = self.leaderships.get(partition)
        return NO_LEADER_EPOCH if leadership is None else leadership.leader_epoch

    def partition_state(self, partition: TopicPartition) -> PartitionLifecycle:
        """Return the state of a partition."""
        return self.partition_states.get(partition, PartitionLifecycle.NON_EXISTENT)

    def replica_state(self, broker_id: int, partition: TopicPartition) -> ReplicaLifecycle:
        """Return the state of a replica."""
        states = self.replica_states.get(broker_id, {})
        return states.get(partition, ReplicaLifecycle.NON_EXISTENT)

    def partitions_in(self, *states: PartitionLifecycle) -> list[TopicPartition]:
        """Return the partitions in one of these states."""
        return [each for each, state in self.partition_states.items() if state in states]

    def partitions_with_leaderships(self) -> list[TopicPartition]:
        """Return the partitions that have a leadership, and whose topic stays."""
        return [each for each in self.leaderships if not self.is_deletion_queued(each)]

    def partitions_with_lost_leader(self) -> list[TopicPartition]:
        """Return the partitions without an online leader whose topic stays."""
        return [
            partition
            for partition, leadership in self.leaderships.items()
            if not self.is_online(leadership.leader, partition)
            and not self.is_deletion_queued(partition)
        ]

    # Replicas

    def replicas_on(self, broker_ids: Iterable[int]) -> dict[int, list[TopicPartition]]:
        """Return the replicas of brokers."""
        found: dict[int, list[TopicPartition]] = {each: [] for each in broker_ids}
        for partition, assignment in self.assignments.items():
            for broker_id in assignment.replicas:
                if broker_id in found:
                    found[broker_id].append(partition)
        return found

    def replicas_in(self, topic: str, state: ReplicaLifecycle) -> dict[int, list[TopicPartition]]:
        """Return the replicas of a topic that are in a state."""
        found: dict[int, list[TopicPartition]] = {}
        for partition, assignment in self.partitions_of(topic):
            for broker_id in assignment.replicas:
                if self.replica_state(broker_id, partition) is state:
                    found.setdefault(broker_id, []).append(partition)
        return found

    def has_replica_in(self, topic: str, state: ReplicaLifecycle) -> bool:
        """Return whether a replica of a topic is in a state."""
        return any(
            self.replica_state(broker_id, partition) is state
            for partition, assignment in self.partitions_of(topic)
            for broker_id in assignment.replicas
        )

    def is_topic_in(self, topic: str, state: ReplicaLifecycle) -> bool:
        """Return whether all replicas of a topic are in a state."""
        return all(
            self.replica_state(broker_id, partition) is state
            for partition, assignment in self.partitions_of(topic)
            for broker_id in assignment.replicas
        )


def replicas_of(
    partitions: Iterable[tuple[TopicPartition, Iterable[int]]],
) -> dict[int, list[TopicPartition]]:
    """Return replicas by broker, from partitions with the brokers of their replicas."""
    found: dict[int, list[TopicPartition]] = {}
    for partition, brokers in partitions:
        for broker_id in brokers:
            found.setdefault(broker_id, []).append(partition)
    return found
