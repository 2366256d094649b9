"""Spark's filters as a narrowing, and those that Spark has to apply itself.

    topic                =, in
    partition            =, in, <, <=, >, >=
    offset, timestamp    the same; of `in` the least and the most, and Spark looks for the rest
    is not null          of what is never null

Spark does not look again at a filter that is not handed back, so what is kept here is kept exactly.
Its times are microseconds and a record's are milliseconds: a bound between two of these becomes the
one that lies inside.
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

from cordwood.spark.narrowing import EVERYTHING, Interval, Narrowing

_NEVER_NULL: Final = frozenset({"topic", "partition", "offset", "timestamp", "timestampType"})
_NUMBERS: Final = frozenset({"partition", "offset", "timestamp"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class _Bound(NamedTuple):
    """A value as whole numbers: the last not above it, and the first not below."""

    floor: int
    ceiling: int


def narrow(filters: Iterable[Filter]) -> tuple[Narrowing, list[Filter]]:
    """Return what filters leave, and those that Spark has to apply, whether narrowed by or not."""
    narrowing, left = EVERYTHING, []
    for each in filters:
        kept = _kept(narrowing, each)
        narrowing = narrowing if kept is None else kept
        if kept is None or _is_partly_kept(each):
            left.append(each)
    return narrowing, left


def _kept(narrowing: Narrowing, condition: Filter) -> Narrowing | None:
    """Return the rows that a filter leaves; None where it can say nothing here."""
    match condition:
        case IsNotNull(attribute=(column,)) if column in _NEVER_NULL:
            return narrowing
        case EqualTo(attribute=("topic",), value=str() as topic):
            return narrowing.with_topics(frozenset({topic}))
        case In(attribute=("topic",), value=values) if _are(values, str):
            return narrowing.with_topics(frozenset(values))
        case In(attribute=("partition",), value=values) if _are(values, int):
            return narrowing.with_partitions_among(frozenset(values))
        case In(attribute=(column,)) if column in _NUMBERS:
            return _with(narrowing, column, _hull(condition.value))
        case _:
            return _compared(narrowing, condition)


def _compared(narrowing: Narrowing, condition: Filter) -> Narrowing | None:
    match condition:
        case (
            EqualTo(attribute=(column,), value=value)
            | GreaterThan(attribute=(column,), value=value)
            | GreaterThanOrEqual(attribute=(column,), value=value)
            | LessThan(attribute=(column,), value=value)
            | LessThanOrEqual(attribute=(column,), value=value)
        ) if column in _NUMBERS:
            bound = _bound(value)
            return None if bound is None else _with(narrowing, column, _side(condition, bound))
        case _:
            return None


def _side(condition: Filter, bound: _Bound) -> Interval:
    """Return the numbers on the side of a bound that a comparison means."""
    match condition:
        case GreaterThan():
            return Interval(least=bound.floor + 1)
        case GreaterThanOrEqual():
            return Interval(least=bound.ceiling)
        case LessThan():
            return Interval(most=bound.ceiling - 1)
        case LessThanOrEqual():
            return Interval(most=bound.floor)
        case _:
            return Interval(bound.ceiling, bound.floor)


def _hull(values: Iterable[object]) -> Interval | None:
    """Return from the least to the most of values."""
    bounds = [_bound(value) for value in values]
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds):
        return None
    return Interval(min(each.ceiling for each in known), max(each.floor for each in known))


def _with(narrowing: Narrowing, column: str, interval: Interval | None) -> Narrowing | None:
    return None if interval is None else narrowing.with_interval(column, interval)


def _bound(value: object) -> _Bound | None:
    if isinstance(value, datetime) and value.tzinfo is not None:
        since = value - _EPOCH
        return _Bound(since // _MILLISECOND, -(-since // _MILLISECOND))
    if isinstance(value, int) and not isinstance(value, bool):
        return _Bound(value, value)
    return None


def _is_partly_kept(condition: Filter) -> bool:
    return isinstance(condition, In) and condition.attribute in (("offset",), ("timestamp",))


def _are(values: Iterable[object], kind: type) -> bool:
    return all(isinstance(each, kind) for each in values)
