"""Filter pushdown: the filters that the source accepts, and those it returns to Spark."""

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
)

from cordwood.spark.source.filter_pushdown import push_filters
from cordwood.spark.source.pushed_filters import NO_FILTERS, IntegerInterval, PushedFilters

pytestmark = pytest.mark.spark

TIME = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
BETWEEN = TIME + timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("condition", "pushed"),
    (
        (IsNotNull(("offset",)), NO_FILTERS),
        (EqualTo(("topic",), "a"), PushedFilters(topics=frozenset({"a"}))),
        (In(("topic",), ("a", "b")), PushedFilters(topics=frozenset({"a", "b"}))),
        (EqualTo(("partition",), 3), PushedFilters(partitions=IntegerInterval(3, 3))),
        (In(("partition",), (1, 4)), PushedFilters(partition_numbers=frozenset({1, 4}))),
        (GreaterThan(("partition",), 3), PushedFilters(partitions=IntegerInterval(least=4))),
        (EqualTo(("offset",), 7), PushedFilters(offsets=IntegerInterval(7, 7))),
        (GreaterThanOrEqual(("offset",), 7), PushedFilters(offsets=IntegerInterval(least=7))),
        (LessThan(("offset",), 7), PushedFilters(offsets=IntegerInterval(most=6))),
        (LessThanOrEqual(("offset",), 7), PushedFilters(offsets=IntegerInterval(most=7))),
        (EqualTo(("timestamp",), TIME), PushedFilters(times=IntegerInterval(1000, 1000))),
        (GreaterThan(("timestamp",), TIME), PushedFilters(times=IntegerInterval(least=1001))),
        (LessThan(("timestamp",), TIME), PushedFilters(times=IntegerInterval(most=999))),
    ),
)
def test_filter_is_accepted_exactly(condition: Filter, pushed: PushedFilters) -> None:
    assert push_filters([condition]) == (pushed, [])


@pytest.mark.parametrize(
    ("condition", "times"),
    (
        (EqualTo(("timestamp",), BETWEEN), IntegerInterval(1001, 1000)),
        (GreaterThan(("timestamp",), BETWEEN), IntegerInterval(least=1001)),
        (GreaterThanOrEqual(("timestamp",), BETWEEN), IntegerInterval(least=1001)),
        (LessThan(("timestamp",), BETWEEN), IntegerInterval(most=1000)),
        (LessThanOrEqual(("timestamp",), BETWEEN), IntegerInterval(most=1000)),
    ),
)
def test_time_between_two_milliseconds_is_rounded_inwards(
    condition: Filter, times: IntegerInterval
) -> None:
    assert push_filters([condition]) == (PushedFilters(times=times), [])


@pytest.mark.parametrize(
    "condition",
    (
        EqualTo(("key",), b"ada"),
        EqualTo(("offset",), None),
        EqualTo(("offset",), value=True),
        EqualTo(("headers", "key"), 7),
        GreaterThan(("topic",), "a"),
        GreaterThan(("timestamp",), TIME.replace(tzinfo=None)),
        In(("topic",), ("a", None)),
        In(("offset",), (7, None)),
        In(("offset",), ()),
        IsNotNull(("value",)),
        Not(EqualTo(("offset",), 7)),
        StringContains(("topic",), "a"),
    ),
)
def test_unsupported_filter_is_returned_to_spark(condition: Filter) -> None:
    assert push_filters([condition]) == (NO_FILTERS, [condition])


def test_set_of_offsets_is_applied_as_a_range_and_returned_to_spark() -> None:
    condition = In(("offset",), (9, 3, 5))

    assert push_filters([condition]) == (PushedFilters(offsets=IntegerInterval(3, 9)), [condition])


def test_filters_are_combined() -> None:
    found, remaining = push_filters(
        [GreaterThan(("offset",), 3), LessThan(("offset",), 9), EqualTo(("key",), b"ada")]
    )

    assert found == PushedFilters(offsets=IntegerInterval(4, 8))
    assert remaining == [EqualTo(("key",), b"ada")]
