"""Tests of the leader's view of its replicas."""

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition_role import Leader, ReplicaState


def leader(*isr: int, replicas: tuple[int, ...] = (1, 2, 3), own_end: int = 10) -> Leader:
    return Leader(1, PartitionImage(replicas, isr or replicas, 1, 4), own_end=own_end)


def fetch(of: Leader, replica_id: int, offset: int, *, now_ms: float = 0, end: int = 10) -> None:
    replica = of.replica(replica_id)
    assert replica is not None
    of.record_fetch(replica, offset, leader_end=end, now_ms=now_ms)


def test_committed_end_is_the_smallest_end_of_the_in_sync_replicas() -> None:
    of_all, of_two = leader(), leader(1, 2)
    for each in (of_all, of_two):
        fetch(each, 2, 7)
        fetch(each, 3, 5)

    assert (of_all.committed_end(1), of_two.committed_end(1)) == (5, 7)


def test_replica_that_has_not_fetched_in_this_epoch_holds_the_committed_end() -> None:
    assert leader(1, 2).committed_end(1) == -1


def test_own_end_limits_the_committed_end_and_never_falls() -> None:
    alone = leader(1, replicas=(1,), own_end=3)

    alone.advance_own_end(8)
    alone.advance_own_end(5)

    assert alone.committed_end(1) == 8


def test_nothing_is_committed_with_too_few_in_sync_replicas() -> None:
    assert leader(1).committed_end(2) is None
    assert leader(1).committed_end(1) == 10


def test_topic_never_requires_more_replicas_than_exist() -> None:
    assert leader(1, replicas=(1,)).has_enough_replicas(2)
    assert not leader(1, replicas=(1, 2)).has_enough_replicas(2)


def test_replica_has_caught_up_when_it_reaches_the_leaders_end() -> None:
    of = leader()

    fetch(of, 2, 10, now_ms=100, end=10)
    fetch(of, 2, 10, now_ms=200, end=20)

    assert of.replica(2) == ReplicaState(10, 20, 200, 100)


def test_replica_had_caught_up_at_its_last_fetch_if_it_reaches_the_end_of_that_time() -> None:
    of = leader()

    fetch(of, 2, 0, now_ms=100, end=10)
    fetch(of, 2, 10, now_ms=200, end=20)

    assert of.replica(2) == ReplicaState(10, 20, 200, 100)


def test_broker_that_is_not_assigned_is_not_a_replica() -> None:
    assert leader().replica(4) is None
