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


@pytest.mark.parametrize(
    "bucket",
    (
        *(timedelta(0), timedelta(seconds=-1), 0, -1, 1e-9, float("nan"), float("inf"), True),
        *("", "minute", "0 minutes", "1 month", "-1 minute", "1.5 minutes", b"1 minute"),
    ),
)
def test_bucket_that_is_not_a_length_is_rejected(bucket: timedelta | float | str) -> None:
    with pytest.raises(SettingError, match=r"bucket: invalid length .*such as '1 minute'"):
        bucket_microseconds(bucket)


@pytest.mark.parametrize(
    ("bucket", "seconds"),
    (
        *((timedelta(minutes=1), 60), (60, 60), (0.5, 0.5), ("1 minute", 60), (" 90 SECONDS ", 90)),
        *(("250 milliseconds", 0.25), ("2 hours", 7_200), ("1 day", 86_400), ("1 week", 604_800)),
    ),
)
def test_bucket_is_a_timedelta_a_number_of_seconds_or_a_text(
    bucket: timedelta | float | str, seconds: float
) -> None:
    assert bucket_microseconds(bucket) == seconds * 1_000_000
