"""Histogram of record timestamps: the number of records per time bucket.

Buckets are counted from 1970, in UTC. Records without a timestamp are in the bucket null.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.arrow_scalars import integer_scalar

_MICROSECOND: Final = timedelta(microseconds=1)
_TEXT: Final = re.compile(r"\s*(?P<number>\d{1,9})\s+(?P<unit>[a-z]+?)s?\s*")
_UNITS: Final = {
    "microsecond": _MICROSECOND,
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_TIME: Final = pa.timestamp("us", tz="UTC")
_NONE: Final = pa.nulls(1, pa.int64())[0]
_ZERO: Final = integer_scalar(0, pa.int64())

#: Records per bucket, by bucket number.
TimeCounts: TypeAlias = Counter[int | None]


def bucket_microseconds(bucket: timedelta | float | str) -> int:
    """Return the length of a bucket; raise SettingError if it is not positive.

    A number is in seconds; a text has a number and a unit, as in Spark's `window`.
    """
    length = _parse_length(bucket)
    if length is None or length < _MICROSECOND:
        raise SettingError(
            f"bucket: invalid length {bucket!r}",
            key="bucket",
            remedy="use a timedelta, a number of seconds, or a text such as '1 minute'",
        )
    return length // _MICROSECOND


def _parse_length(bucket: object) -> timedelta | None:
    match bucket:
        case timedelta():
            return bucket
        case bool():
            return None
        case int() | float() if 0 < bucket < timedelta.max.total_seconds():
            return timedelta(seconds=bucket)
        case str() if (found := _TEXT.fullmatch(bucket.lower())) is not None:
            unit = _UNITS.get(found["unit"])
            return None if unit is None else int(found["number"]) * unit
        case _:
            return None


def count_times(batches: Iterable[pa.RecordBatch], *, length: int) -> TimeCounts:
    """Count the records of batches with a column `timestamp`; `length` is in microseconds."""
    counts: TimeCounts = Counter()
    divisor = integer_scalar(length, pa.int64())
    for batch in batches:
        times = batch.column("timestamp").cast(pa.int64())
        known = pc.if_else(pc.less(times, _ZERO), _NONE, times)
        found = pc.value_counts(pc.divide(known, divisor))
        pairs = zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True)
        for bucket, count in pairs:
            counts[bucket] += count
    return counts


def make_histogram(counts: Mapping[int | None, int], *, length: int) -> pa.Table:
    """Return the non-empty buckets by start time, in order; null is last."""
    numbers = sorted(each for each in counts if each is not None)
    keys = [*numbers, None] if None in counts else numbers
    starts = [None if key is None else key * length for key in keys]
    return pa.table(
        {
            "timestamp": pa.array(starts, pa.int64()).cast(_TIME),
            "count": pa.array([counts[key] for key in keys], pa.int64()),
        }
    )
