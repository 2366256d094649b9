"""Histogram of record timestamps: the number of records per time bucket.

Buckets are counted from 1970, in UTC. Records without a timestamp are in the bucket null.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.arrow_scalars import integer_scalar

_MICROSECOND: Final = timedelta(microseconds=1)
_TIME: Final = pa.timestamp("us", tz="UTC")
_NONE: Final = pa.nulls(1, pa.int64())[0]
_ZERO: Final = integer_scalar(0, pa.int64())

#: Records per bucket, by bucket number.
TimeCounts: TypeAlias = Counter[int | None]


def bucket_microseconds(bucket: timedelta) -> int:
    """Return the length of a bucket; raise SettingError if it is not positive."""
    length = bucket // _MICROSECOND
    if length < 1:
        raise SettingError(
            f"bucket: invalid length {bucket}", key="bucket", remedy="use a length above zero"
        )
    return length


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
