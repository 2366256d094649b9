"""Spark's read limits and the limits of the options (spark-sql-kafka: `getDefaultReadLimit`).

A Python source can return one simple limit, and Spark passes it to each `latestOffset`. The other
limits of the options are applied next to it. `ReadAllAvailable` stands for Trigger.Once, in which
no limit holds: so the default is never `ReadAllAvailable` while an option sets a limit.
"""

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
)

from cordwood.core.errors import SparkError
from cordwood.spark.stream.admission import NO_LIMITS, AdmissionLimits


def default_read_limit(limits: AdmissionLimits) -> ReadLimit:
    """Return the limit of the options that Spark passes back."""
    if limits.max_offsets is not None:
        return ReadMaxRows(limits.max_offsets)
    if limits.max_bytes is not None:
        return ReadMaxBytes(limits.max_bytes)
    if limits.min_offsets is not None:
        return ReadMinRows(limits.min_offsets)
    return ReadAllAvailable()


def batch_limits(limits: AdmissionLimits, limit: ReadLimit) -> AdmissionLimits:
    """Return the limits of one batch: Spark's limit, and the options' other ones."""
    match limit:
        case ReadAllAvailable():
            return NO_LIMITS
        case ReadMaxRows(max_rows=most):
            return limits._replace(max_offsets=most)
        case ReadMaxBytes(max_bytes=most):
            return limits._replace(max_bytes=most)
        case ReadMinRows(min_rows=least):
            return limits._replace(min_offsets=least)
        case _:
            raise SparkError(
                f"{limit}: the source cannot limit a batch this way",
                remedy="set maxOffsetsPerTrigger or maxBytesPerTrigger",
            )
