"""Conditions that the source keeps to."""

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.narrowing import EVERYTHING, Interval, Narrowing

ORDERS = TopicPartition(TopicName("orders"), PartitionId(3))


def test_everything_has_every_partition() -> None:
    assert EVERYTHING.has(ORDERS)


def test_partition_is_left_out_by_any_condition() -> None:
    assert not EVERYTHING.with_topics(frozenset({"payments"})).has(ORDERS)
    assert not EVERYTHING.with_partitions_among(frozenset({1, 2})).has(ORDERS)
    assert not EVERYTHING.with_interval("partition", Interval(most=2)).has(ORDERS)


def test_conditions_hold_together() -> None:
    found = (
        EVERYTHING.with_topics(frozenset({"a", "orders"}))
        .with_topics(frozenset({"orders", "b"}))
        .with_partitions_among(frozenset({1, 3}))
        .with_partitions_among(frozenset({3, 4}))
    )

    assert found == Narrowing(topics=frozenset({"orders"}), among=frozenset({3}))
    assert found.has(ORDERS)


def test_intervals_are_of_their_columns() -> None:
    found = EVERYTHING.with_interval("offset", Interval(least=3)).with_interval(
        "timestamp", Interval(5, 9)
    )

    assert found == Narrowing(offsets=Interval(least=3), times=Interval(5, 9))


def test_intervals_have_what_both_have() -> None:
    assert Interval(1, 5).within(Interval(3, 9)) == Interval(3, 5)
    assert 4 not in Interval(1, 2).within(Interval(4, 5))
