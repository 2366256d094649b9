"""Difference between two cluster images for the replicas of one broker.

Kafka: `TopicsDelta.localChanges`, `LocalReplicaChanges`.

    DROP       a replica that is not on this broker any more: its topic was deleted, or another one
               has its name, or the replica is assigned to other brokers
    HOST       a new replica on this broker, with its first role
    NEW_ROLE   the leader is another broker: this one begins to lead or to follow
    OFFLINE    the partition has no leader any more
    NEW_EPOCH  the same leader has a later leader epoch
    NEW_ISR    the replicas, or those in sync, have changed; the leadership has not

Drops come first, so that a name is free for the next topic. A start is the difference to an image
without topics.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from cordwood.broker.metadata.metadata_image import (
    NO_LEADER,
    ClusterImage,
    PartitionImage,
    TopicImage,
)
from cordwood.core.uuids import Uuid


class ReplicaChangeKind(Enum):
    """The kinds of changes; the module's docstring explains them."""

    DROP = "drop"
    HOST = "host"
    NEW_ROLE = "new role"
    OFFLINE = "offline"
    NEW_EPOCH = "new epoch"
    NEW_ISR = "new isr"


class ReplicaChange(NamedTuple):
    """A change of one replica, and the next state of its partition; of a drop, the former one."""

    kind: ReplicaChangeKind
    topic: str
    topic_id: Uuid
    partition: int
    state: PartitionImage


def replica_changes(
    before: ClusterImage, after: ClusterImage, *, node_id: int
) -> Iterator[ReplicaChange]:
    """Yield the changes of a broker's replicas, in the order in which they are applied."""
    for name, topic in before.topics.items():
        successor = after.topics.get(name)
        if successor is not topic:
            yield from _drops(topic, successor, node_id=node_id)
    for name, topic in after.topics.items():
        former = before.topics.get(name)
        if former is not topic:
            yield from _updates(former, topic, node_id=node_id)


def _drops(
    topic: TopicImage, successor: TopicImage | None, *, node_id: int
) -> Iterator[ReplicaChange]:
    kept = _states(successor, topic.topic_id)
    for number, state in enumerate(topic.partitions):
        stays = number < len(kept) and node_id in kept[number].replicas
        if node_id in state.replicas and not stays:
            change = ReplicaChangeKind.DROP
            yield ReplicaChange(change, topic.name, topic.topic_id, number, state)


def _updates(
    former: TopicImage | None, topic: TopicImage, *, node_id: int
) -> Iterator[ReplicaChange]:
    known = _states(former, topic.topic_id)
    for number, state in enumerate(topic.partitions):
        before = known[number] if number < len(known) else None
        if node_id in state.replicas and before != state:
            kind = _kind(before, state, node_id=node_id)
            yield ReplicaChange(kind, topic.name, topic.topic_id, number, state)


def _kind(
    before: PartitionImage | None, after: PartitionImage, *, node_id: int
) -> ReplicaChangeKind:
    if before is None or node_id not in before.replicas:
        return ReplicaChangeKind.HOST
    if before.leader != after.leader:
        is_offline = after.leader == NO_LEADER
        return ReplicaChangeKind.OFFLINE if is_offline else ReplicaChangeKind.NEW_ROLE
    if before.leader_epoch != after.leader_epoch:
        return ReplicaChangeKind.NEW_EPOCH
    return ReplicaChangeKind.NEW_ISR


def _states(topic: TopicImage | None, topic_id: Uuid) -> tuple[PartitionImage, ...]:
    """Return the partitions of a topic, none if it is another topic of the same name."""
    return topic.partitions if topic is not None and topic.topic_id == topic_id else ()
