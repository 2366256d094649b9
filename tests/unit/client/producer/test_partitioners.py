"""Partitioners choose the partitions that Kafka's producer chooses."""

import pytest

from cordwood.client.network.cluster import NO_NODE, Cluster, PartitionInfo, TopicInfo
from cordwood.client.producer.partition_queue import NewRecord
from cordwood.client.producer.partitioners import (
    PartitionChoice,
    RoundRobin,
    StickyPartition,
    by_key,
)
from cordwood.core.address import Address
from cordwood.core.errors import InvalidRequestError
from cordwood.core.uuids import NO_UUID
from cordwood.testing.seeded_random import SeededRandom


def cluster_of(partitions: int, *, without_leader: int = 0) -> Cluster:
    """Return a cluster with topic t, whose first partitions have no leader."""
    leaders = [NO_NODE] * without_leader + [1] * (partitions - without_leader)
    infos = {number: PartitionInfo(leader, 0) for number, leader in enumerate(leaders)}
    return Cluster(brokers={1: Address("a", 1)}, topics={"t": TopicInfo("t", NO_UUID, infos)})


def test_by_key_chooses_no_partition_without_a_key() -> None:
    assert by_key(None, 3) is None


def test_by_key_drops_the_sign_as_java_does() -> None:
    assert by_key(b"21", 10) == (-973932308 & 0x7FFFFFFF) % 10


def test_round_robin_chooses_each_partition_in_turn() -> None:
    turn = RoundRobin()

    assert [turn(b"same", 3) for _ in range(4)] == [0, 1, 2, 0]


def test_sticky_partition_stays_until_a_batch_is_full() -> None:
    sticky = StickyPartition(SeededRandom(3), switch_bytes=100)

    chosen = [sticky.choose("t", cluster_of(50), size=60) for _ in range(8)]

    assert chosen[0::2] == chosen[1::2]
    assert len(set(chosen)) > 1


def test_sticky_partition_changes_when_its_partition_is_missing() -> None:
    sticky = StickyPartition(SeededRandom(3), switch_bytes=10_000)
    while sticky.choose("t", cluster_of(50), size=10_000) == 0:
        pass

    assert sticky.choose("t", cluster_of(1), size=1) == 0


def test_sticky_partition_has_a_leader() -> None:
    sticky = StickyPartition(SeededRandom(3), switch_bytes=1)

    chosen = {sticky.choose("t", cluster_of(5, without_leader=3), size=1) for _ in range(40)}

    assert chosen == {3, 4}


def test_sticky_partition_is_any_one_when_none_has_a_leader() -> None:
    sticky = StickyPartition(SeededRandom(3), switch_bytes=1)

    assert sticky.choose("t", cluster_of(2, without_leader=2), size=1) in {0, 1}


@pytest.mark.parametrize("chosen", (7, -3))
def test_partition_that_the_topic_does_not_have_is_rejected(chosen: int) -> None:
    choice = PartitionChoice(lambda *_: chosen, SeededRandom(3), switch_bytes=1)
    record = NewRecord("t", None, None, b"v", 1, (), 40)

    with pytest.raises(InvalidRequestError, match=f"no partition {chosen}, which the partitioner"):
        choice.choose(record, cluster_of(1))
