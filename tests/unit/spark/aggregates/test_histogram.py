"""Histogram of record timestamps."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.aggregates.histogram import bucket_microseconds, count_times, make_histogram

MINUTE = bucket_microseconds(timedelta(minutes=1))


def _batch(*times_ms: int) -> pa.RecordBatch:
    times = pa.array([each * 1000 for each in times_ms], pa.int64())
    return pa.record_batch({"timestamp": times.cast(pa.timestamp("us", tz="UTC"))})


def test_record_counts_in_the_bucket_of_its_time() -> None:
    counts = count_times([_batch(0, 59_999, 60_000), _batch(60_001, 200_000)], length=MINUTE)

    assert counts == {0: 2, 1: 2, 3: 1}


def test_records_without_a_time_are_in_the_bucket_null() -> None:
    assert count_times([_batch(-1, 5, -1)], length=MINUTE) == {None: 2, 0: 1}


def test_histogram_is_in_the_order_of_time() -> None:
    found = make_histogram(Counter({3: 1, None: 2, 0: 4}), length=MINUTE)

    assert found.to_pylist() == [
        {"timestamp": datetime(1970, 1, 1, tzinfo=UTC), "count": 4},
        {"timestamp": datetime(1970, 1, 1, 0, 3, tzinfo=UTC), "count": 1},
        {"timestamp": None, "count": 2},
    ]


@pytest.mark.parametrize("bucket", (timedelta(0), timedelta(seconds=-1)))
def test_bucket_without_length_is_rejected(bucket: timedelta) -> None:
    with pytest.raises(SettingError, match=r"bucket: invalid length .*use a length above zero"):
        bucket_microseconds(bucket)
