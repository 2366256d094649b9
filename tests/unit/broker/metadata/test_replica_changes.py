"""Tests of the difference between two images for one broker."""

from dataclasses import replace

import pytest

from cordwood.broker.metadata.metadata_image import (
    NO_LEADER,
    ClusterImage,
    PartitionImage,
    TopicImage,
)
from cordwood.broker.metadata.replica_changes import ReplicaChange, replica_changes
from tests.unit.broker.image_samples import cluster, topic, topic_id

LED = PartitionImage((1, 2), (1, 2), 1, 3)
AWAY = LED._replace(replicas=(2, 3), isr=(2, 3), leader=2)


def orders(*states: PartitionImage) -> ClusterImage:
    return cluster(TopicImage("orders", topic_id("orders"), states))


def changes(before: ClusterImage, after: ClusterImage) -> list[tuple[str, str]]:
    """Return the kind and the name of each change for broker 1."""
    found = replica_changes(before, after, node_id=1)
    return [(each.kind.value, f"{each.topic}-{each.partition}") for each in found]


@pytest.mark.parametrize(
    ("state", "kind"),
    (
        (LED._replace(leader=2, leader_epoch=4), "new role"),
        (LED._replace(leader=NO_LEADER), "offline"),
        (LED._replace(leader_epoch=4), "new epoch"),
        (LED._replace(isr=(1,)), "new isr"),
        (AWAY, "drop"),
    ),
)
def test_change_of_one_partition_is_the_only_change(state: PartitionImage, kind: str) -> None:
    assert changes(orders(LED, LED), orders(LED, state)) == [(kind, "orders-1")]


def test_same_states_are_no_change() -> None:
    assert changes(orders(LED), orders(LED)) == []


def test_change_has_the_next_state() -> None:
    later = LED._replace(leader_epoch=4)

    (change,) = replica_changes(orders(LED), orders(later), node_id=1)

    assert change == ReplicaChange(change.kind, "orders", topic_id("orders"), 0, later)


def test_start_hosts_every_replica_of_the_broker() -> None:
    assert changes(cluster(), orders(LED, AWAY, LED)) == [
        ("host", "orders-0"),
        ("host", "orders-2"),
    ]


def test_new_partitions_and_returned_replicas_are_hosted() -> None:
    assert changes(orders(AWAY), orders(LED, LED)) == [("host", "orders-0"), ("host", "orders-1")]


def test_deleted_topic_is_dropped() -> None:
    assert changes(orders(LED, AWAY), cluster()) == [("drop", "orders-0")]


def test_topic_of_the_same_name_is_hosted_after_the_drops() -> None:
    other = replace(topic("orders", 2), topic_id=topic_id("another"))
    before = orders(LED).with_topic(topic("others"))

    assert changes(before, cluster(other)) == [
        ("drop", "orders-0"),
        ("drop", "others-0"),
        ("host", "orders-0"),
        ("host", "orders-1"),
    ]
