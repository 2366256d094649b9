"""Replicas that a move adds are not missed."""

from cordwood.cli.replica_moves import move_of, replication_factor, under_replicated
from cordwood.client.admin.admin_types import (
    PartitionDescription,
    PartitionReassignment,
    TopicDescription,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition

MOVED = PartitionDescription(
    partition=0, leader=1, leader_epoch=0, replicas=(1, 2, 3), in_sync=(1, 2), offline=()
)
TOPIC = TopicDescription(name="orders", topic_id="", is_internal=False, partitions=(MOVED,))
MOVES = {
    TopicPartition(TopicName("orders"), PartitionId(0)): PartitionReassignment(
        replicas=(1, 2, 3), adding=(3,), removing=(1,)
    )
}


def test_replica_that_a_move_adds_may_be_out_of_sync() -> None:
    assert [*under_replicated(TOPIC, MOVES)] == []
    assert [*under_replicated(TOPIC, {})] == [MOVED]


def test_replication_factor_leaves_out_the_added_replicas() -> None:
    assert replication_factor(MOVED, move_of(TOPIC, MOVED, moves=MOVES)) == 2
    assert replication_factor(MOVED, None) == 3
