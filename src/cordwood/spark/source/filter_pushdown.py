"""Filter pushdown (Spark: `DataSourceReader.pushFilters`): the filters that the source accepts.

    topic                =, in
    partition            =, in, <, <=, >, >=
    offset, timestamp    the same; for `in` the source uses minimum and maximum, and returns the
                         filter to Spark
    is not null          for columns that are never null

Spark does not apply a filter that is not returned to it, so the source applies accepted filters
exactly. Spark's timestamps are microseconds and Kafka's are milliseconds: a bound between two
milliseconds becomes the one inside the interval.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from cordwood.spark.source.pushed_filters import NO_FILTERS, IntegerInterval, PushedFilters

_NEVER_NULL: Final = frozenset({"topic", "partition", "offset", "timestamp", "timestampType"})
_NUMBERS: Final = frozenset({"partition", "offset", "timestamp"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class _IntegerBound(NamedTuple):
    """A value as integers: the greatest not above it, and the least not below it."""

    floor: int
    ceiling: int


def push_filters(filters: Iterable[Filter]) -> tuple[PushedFilters, list[Filter]]:
    """Return the bounds from these filters, and the filters that Spark must still apply."""
    pushed, remaining = NO_FILTERS, []
    for each in filters:
        accepted = _accept(pushed, each)
        pushed = pushed if accepted is None else accepted
        if accepted is None or _is_partly_applied(each):
            remaining.append(each)
    return pushed, remaining


def _accept(pushed: PushedFilters, condition: Filter) -> PushedFilters | None:
    """Return the bounds with a filter added; None if the source cannot use the filter."""
    match condition:
        case IsNotNull(attribute=(column,)) if column in _NEVER_NULL:
            return pushed
        case EqualTo(attribute=("topic",), value=str() as topic):
            return pushed.with_topics(frozenset({topic}))
        case In(attribute=("topic",), value=values) if _are(values, str):
            return pushed.with_topics(frozenset(values))
        case In(attribute=("partition",), value=values) if _are(values, int):
            return pushed.with_partition_numbers(frozenset(values))
        case In(attribute=(column,)) if column in _NUMBERS:
            return _with(pushed, column, _hull(condition.value))
        case _:
            return _accept_comparison(pushed, condition)


def _accept_comparison(pushed: PushedFilters, condition: Filter) -> PushedFilters | None:
    match condition:
        case (
            EqualTo(attribute=(column,), value=value)
            | GreaterThan(attribute=(column,), value=value)
            | GreaterThanOrEqual(attribute=(column,), value=value)
            | LessThan(attribute=(column,), value=value)
            | LessThanOrEqual(attribute=(column,), value=value)
        ) if column in _NUMBERS:
            bound = _bound(value)
            return None if bound is None else _with(pushed, column, _side(condition, bound))
        case _:
            return None


def _side(condition: Filter, bound: _IntegerBound) -> IntegerInterval:
    """Return the integers that satisfy a comparison with a bound."""
    match condition:
        case GreaterThan():
            return IntegerInterval(least=bound.floor + 1)
        case GreaterThanOrEqual():
            return IntegerInterval(least=bound.ceiling)
        case LessThan():
            return IntegerInterval(most=bound.ceiling - 1)
        case LessThanOrEqual():
            return IntegerInterval(most=bound.floor)
        case _:
            return IntegerInterval(bound.ceiling, bound.floor)


def _hull(values: Iterable[object]) -> IntegerInterval | None:
    """Return the interval from the minimum to the maximum of values."""
    bounds = [_bound(value) for value in values]
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds):
        return None
    return IntegerInterval(min(each.ceiling for each in known), max(each.floor for each in known))


def _with(
    pushed: PushedFilters, column: str, interval: IntegerInterval | None
) -> PushedFilters | None:
    return None if interval is None else pushed.with_interval(column, interval)


def _bound(value: object) -> _IntegerBound | None:
    if isinstance(value, datetime) and value.tzinfo is not None:
        since = value - _EPOCH
        return _IntegerBound(since // _MILLISECOND, -(-since // _MILLISECOND))
    if isinstance(value, int) and not isinstance(value, bool):
        return _IntegerBound(value, value)
    return None


def _is_partly_applied(condition: Filter) -> bool:
    return isinstance(condition, In) and condition.attribute in (("offset",), ("timestamp",))


def _are(values: Iterable[object], kind: type) -> bool:
    return all(isinstance(each, kind) for each in values)
