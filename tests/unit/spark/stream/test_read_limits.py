"""Spark's read limits, and those of the options."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    ReadMinRows,
)

from cordwood.core.errors import SparkError
from cordwood.spark.stream.admission import NO_LIMITS, AdmissionLimits
from cordwood.spark.stream.read_limits import batch_limits, default_read_limit

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("limits", "expected"),
    (
        (NO_LIMITS, ReadAllAvailable()),
        (AdmissionLimits(max_offsets=5, min_offsets=2, max_bytes=9), ReadMaxRows(5)),
        (AdmissionLimits(max_bytes=9, min_offsets=2), ReadMaxBytes(9)),
        (AdmissionLimits(min_offsets=2), ReadMinRows(2)),
    ),
)
def test_default_limit_is_never_all_while_an_option_limits(
    limits: AdmissionLimits, expected: ReadLimit
) -> None:
    assert default_read_limit(limits) == expected


def test_trigger_once_ignores_all_limits() -> None:
    limits = AdmissionLimits(max_offsets=5, max_bytes=9, min_offsets=2)

    assert batch_limits(limits, ReadAllAvailable()) == NO_LIMITS


@pytest.mark.parametrize(
    ("limit", "expected"),
    (
        (ReadMaxRows(3), AdmissionLimits(3, 9, 2)),
        (ReadMaxBytes(3), AdmissionLimits(5, 3, 2)),
        (ReadMinRows(3), AdmissionLimits(5, 9, 3)),
    ),
)
def test_limit_of_spark_replaces_that_of_the_options(
    limit: ReadLimit, expected: AdmissionLimits
) -> None:
    limits = AdmissionLimits(max_offsets=5, max_bytes=9, min_offsets=2)

    assert batch_limits(limits, limit) == expected


def test_limit_by_files_is_rejected() -> None:
    with pytest.raises(SparkError, match="the source cannot limit a batch this way"):
        batch_limits(NO_LIMITS, ReadMaxFiles(3))
