"""Replicas of partitions that move (Kafka: `TopicCommand.PartitionDescription`).

A replica that a move adds is not in sync before it has copied the log. It counts neither for the
replication factor nor as out of sync, so a planned move raises no alarm.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cordwood.core.types import PartitionId, TopicName, TopicPartition

if TYPE_CHECKING:
    from cordwood.client.admin.admin_types import (
        PartitionDescription,
        PartitionReassignment,
        TopicDescription,
    )
    from cordwood.client.blocking import Admin

Moves = Mapping[TopicPartition, "PartitionReassignment"]


def moves_of(admin: "Admin") -> Moves:
    """Return the moves in progress; none from brokers that cannot list them."""
    from cordwood.core.errors import UnsupportedVersionError  # noqa: PLC0415  # help needs none of it

    try:
        return admin.list_reassignments()
    except UnsupportedVersionError:
        return {}


def move_of(
    topic: "TopicDescription", partition: "PartitionDescription", *, moves: Moves
) -> "PartitionReassignment | None":
    """Return the move of a partition, if it has one."""
    return moves.get(TopicPartition(TopicName(topic.name), PartitionId(partition.partition)))


def replication_factor(
    partition: "PartitionDescription", move: "PartitionReassignment | None"
) -> int:
    """Return the number of replicas, without those that the move adds."""
    return len(partition.replicas) - (0 if move is None else len(move.adding))


def under_replicated(topic: "TopicDescription", moves: Moves) -> "Iterable[PartitionDescription]":
    """Yield the partitions with fewer replicas in sync than the replication factor."""
    for each in topic.partitions:
        if len(each.in_sync) < replication_factor(each, move_of(topic, each, moves=moves)):
            yield each
