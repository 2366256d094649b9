"""Spark's filters: what is kept here, and what goes back."""

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

from cordwood.spark.filters import narrow
from cordwood.spark.narrowing import EVERYTHING, Interval, Narrowing

pytestmark = pytest.mark.spark

TIME = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
BETWEEN = TIME + timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("condition", "narrowing"),
    (
        (IsNotNull(("offset",)), EVERYTHING),
        (EqualTo(("topic",), "a"), Narrowing(topics=frozenset({"a"}))),
        (In(("topic",), ("a", "b")), Narrowing(topics=frozenset({"a", "b"}))),
        (EqualTo(("partition",), 3), Narrowing(partitions=Interval(3, 3))),
        (In(("partition",), (1, 4)), Narrowing(among=frozenset({1, 4}))),
        (GreaterThan(("partition",), 3), Narrowing(partitions=Interval(least=4))),
        (EqualTo(("offset",), 7), Narrowing(offsets=Interval(7, 7))),
        (GreaterThanOrEqual(("offset",), 7), Narrowing(offsets=Interval(least=7))),
        (LessThan(("offset",), 7), Narrowing(offsets=Interval(most=6))),
        (LessThanOrEqual(("offset",), 7), Narrowing(offsets=Interval(most=7))),
        (EqualTo(("timestamp",), TIME), Narrowing(times=Interval(1000, 1000))),
        (GreaterThan(("timestamp",), TIME), Narrowing(times=Interval(least=1001))),
        (LessThan(("timestamp",), TIME), Narrowing(times=Interval(most=999))),
    ),
)
def test_filter_is_kept_exactly(condition: Filter, narrowing: Narrowing) -> None:
    assert narrow([condition]) == (narrowing, [])


@pytest.mark.parametrize(
    ("condition", "times"),
    (
        (EqualTo(("timestamp",), BETWEEN), Interval(1001, 1000)),
        (GreaterThan(("timestamp",), BETWEEN), Interval(least=1001)),
        (GreaterThanOrEqual(("timestamp",), BETWEEN), Interval(least=1001)),
        (LessThan(("timestamp",), BETWEEN), Interval(most=1000)),
        (LessThanOrEqual(("timestamp",), BETWEEN), Interval(most=1000)),
    ),
)
def test_time_between_two_milliseconds_leaves_what_lies_inside(
    condition: Filter, times: Interval
) -> None:
    assert narrow([condition]) == (Narrowing(times=times), [])


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
def test_filter_that_says_nothing_here_goes_back(condition: Filter) -> None:
    assert narrow([condition]) == (EVERYTHING, [condition])


def test_set_of_offsets_narrows_and_goes_back() -> None:
    condition = In(("offset",), (9, 3, 5))

    assert narrow([condition]) == (Narrowing(offsets=Interval(3, 9)), [condition])


def test_filters_hold_together() -> None:
    found, left = narrow(
        [GreaterThan(("offset",), 3), LessThan(("offset",), 9), EqualTo(("key",), b"ada")]
    )

    assert found == Narrowing(offsets=Interval(4, 8))
    assert left == [EqualTo(("key",), b"ada")]
