"""How many records there are of each stretch of time.

Stretches are counted from 1970 on, in UTC. Records whose producer gave no time are of none, which
is null.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.errors import SettingError
from cordwood.spark.scalars import number

_MICROSECOND: Final = timedelta(microseconds=1)
_TIME: Final = pa.timestamp("us", tz="UTC")
_NONE: Final = pa.nulls(1, pa.int64())[0]
_ZERO: Final = number(0, pa.int64())

#: Records of each stretch, by its number.
TimeCounts: TypeAlias = Counter[int | None]


def microseconds(bucket: timedelta) -> int:
    """Return the length of a stretch; SettingError where it is none."""
    length = bucket // _MICROSECOND
    if length < 1:
        raise SettingError(f"bucket is {bucket}", key="bucket", remedy="use a time above zero")
    return length


def count_times(batches: Iterable[pa.RecordBatch], *, length: int) -> TimeCounts:
    """Return what batches with a column `timestamp` have in stretches of so many microseconds."""
    counts: TimeCounts = Counter()
    divisor = number(length, pa.int64())
    for batch in batches:
        times = batch.column("timestamp").cast(pa.int64())
        known = pc.if_else(pc.less(times, _ZERO), _NONE, times)
        found = pc.value_counts(pc.divide(known, divisor))
        pairs = zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True)
        for stretch, count in pairs:
            counts[stretch] += count
    return counts


def histogram(counts: Mapping[int | None, int], *, length: int) -> pa.Table:
    """Return the stretches that have records, by their beginnings, in order; null is the last."""
    numbers = sorted(each for each in counts if each is not None)
    keys = [*numbers, None] if None in counts else numbers
    starts = [None if key is None else key * length for key in keys]
    return pa.table(
        {
            "timestamp": pa.array(starts, pa.int64()).cast(_TIME),
            "count": pa.array([counts[key] for key in keys], pa.int64()),
        }
    )
