"""Tests of the throttles of reassignments, against the rules of Kafka's command."""

from cordwood.client.admin.admin_types import PartitionReassignment
from cordwood.client.admin.reassignment_throttles import (
    ReplicaMove,
    broker_throttles,
    log_dir_throttles,
    moves,
    topic_throttles,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition

LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"


def orders(number: int = 0, topic: str = "orders") -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


def move(sources: set[int], destinations: set[int]) -> ReplicaMove:
    return ReplicaMove(frozenset(sources), frozenset(destinations))


def test_move_is_from_all_present_replicas_to_those_that_come() -> None:
    found = moves({}, {orders(): [2, 3]}, replicas={orders(): [1, 2]})

    assert found == {orders(): move({1, 2}, {3})}


def test_moves_in_progress_are_included() -> None:
    in_progress = {orders(1): PartitionReassignment(replicas=(1, 2, 4), adding=(4,), removing=(1,))}

    found = moves(in_progress, {orders(): [3]}, replicas={orders(): [1]})

    assert found == {orders(1): move({1, 2}, {4}), orders(): move({1}, {3})}


def test_move_that_is_replaced_keeps_its_sources() -> None:
    in_progress = {orders(): PartitionReassignment(replicas=(1, 4), adding=(4,), removing=(1,))}

    found = moves(in_progress, {orders(): [5]}, replicas={orders(): [1, 4]})

    assert found == {orders(): move({1}, {5})}


def test_sources_are_throttled_as_leaders_and_destinations_as_followers() -> None:
    found = {
        orders(0): move({1, 2}, {3}),
        orders(10): move({1}, {4}),
        orders(topic="items"): move({5}, set()),
    }

    assert topic_throttles(found) == {
        "items": {LEADERS: "0:5", FOLLOWERS: ""},
        "orders": {LEADERS: "0:1,0:2,10:1", FOLLOWERS: "0:3,10:4"},
    }


def test_all_brokers_of_the_moves_get_both_limits() -> None:
    limits = {
        "leader.replication.throttled.rate": "7",
        "follower.replication.throttled.rate": "7",
    }

    assert broker_throttles({orders(): move({2, 1}, {3})}, 7) == dict.fromkeys((1, 2, 3), limits)


def test_limit_of_directories_is_another_setting() -> None:
    name = "replica.alter.log.dirs.io.max.bytes.per.second"

    assert log_dir_throttles([2, 2, 1], 9) == {1: {name: "9"}, 2: {name: "9"}}
