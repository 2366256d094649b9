"""Tests of throttled replicas."""

from cordwood.cluster.partition.replication_quota_manager import (
    ALL_PARTITIONS,
    ReplicationQuotaManager,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.testing.virtual_clock import VirtualClock

FIRST, SECOND = (TopicPartition(TopicName("orders"), PartitionId(number)) for number in (0, 1))


def quota(time: VirtualClock | None = None, *, limit: int = 100) -> ReplicationQuotaManager:
    made = ReplicationQuotaManager(
        (time or VirtualClock()).monotonic_ms, windows=10, window_ms=1_000
    )
    made.limit = limit
    return made


def test_no_partition_is_listed_at_first() -> None:
    assert not quota().is_listed(FIRST)


def test_list_replaces_the_former_one_of_the_topic() -> None:
    listed = quota()
    listed.throttle("orders", [0])
    listed.throttle("orders", [1])

    assert (listed.is_listed(FIRST), listed.is_listed(SECOND)) == (False, True)


def test_all_partitions_of_a_topic_are_listed() -> None:
    listed = quota()
    listed.throttle("orders", ALL_PARTITIONS)

    assert listed.is_listed(SECOND)
    assert not listed.is_listed(SECOND._replace(topic=TopicName("other")))


def test_removed_list_has_no_partition() -> None:
    listed = quota()
    listed.throttle("orders", [0])
    listed.remove_throttle("orders")
    listed.remove_throttle("unknown")

    assert not listed.is_listed(FIRST)


def test_replica_is_throttled_above_the_limit_only() -> None:
    limited = quota()
    limited.throttle("orders", [0])

    limited.record(100)
    at_the_limit = limited.is_throttled(FIRST, is_in_sync=False)
    limited.record(1)

    assert (at_the_limit, limited.is_throttled(FIRST, is_in_sync=False)) == (False, True)


def test_replica_in_sync_is_never_throttled() -> None:
    limited = quota(limit=0)
    limited.throttle("orders", [0])
    limited.record(1)

    assert not limited.is_throttled(FIRST, is_in_sync=True)
    assert not limited.is_throttled(SECOND, is_in_sync=False)


def test_throttle_ends_when_the_rate_has_fallen() -> None:
    time = VirtualClock()
    limited = quota(time)
    limited.throttle("orders", [0])
    limited.record(300)

    time.advance(ms=2_999)
    before = limited.is_throttled(FIRST, is_in_sync=False)
    time.advance(ms=1)

    assert (before, limited.is_throttled(FIRST, is_in_sync=False)) == (True, False)
