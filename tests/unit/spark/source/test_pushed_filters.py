"""The conjunction of pushed filters."""

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.pushed_filters import NO_FILTERS, IntegerInterval, PushedFilters

ORDERS = TopicPartition(TopicName("orders"), PartitionId(3))


def test_every_partition_matches_without_filters() -> None:
    assert NO_FILTERS.may_match(ORDERS)


def test_partition_is_left_out_by_any_condition() -> None:
    assert not NO_FILTERS.with_topics(frozenset({"payments"})).may_match(ORDERS)
    assert not NO_FILTERS.with_partition_numbers(frozenset({1, 2})).may_match(ORDERS)
    assert not NO_FILTERS.with_interval("partition", IntegerInterval(most=2)).may_match(ORDERS)


def test_conditions_are_combined() -> None:
    found = (
        NO_FILTERS.with_topics(frozenset({"a", "orders"}))
        .with_topics(frozenset({"orders", "b"}))
        .with_partition_numbers(frozenset({1, 3}))
        .with_partition_numbers(frozenset({3, 4}))
    )

    assert found == PushedFilters(topics=frozenset({"orders"}), partition_numbers=frozenset({3}))
    assert found.may_match(ORDERS)


def test_intervals_are_of_their_columns() -> None:
    found = NO_FILTERS.with_interval("offset", IntegerInterval(least=3)).with_interval(
        "timestamp", IntegerInterval(5, 9)
    )

    assert found == PushedFilters(offsets=IntegerInterval(least=3), times=IntegerInterval(5, 9))


def test_intersection_has_the_integers_of_both_intervals() -> None:
    assert IntegerInterval(1, 5).intersect(IntegerInterval(3, 9)) == IntegerInterval(3, 5)
    assert 4 not in IntegerInterval(1, 2).intersect(IntegerInterval(4, 5))
