"""Payments without those that were sent twice: with the same key within ten minutes.

Kafka Streams: a `transformValues` with a window store of keys. Spark forgets a key when the
watermark has passed it by the same time.
"""

from pyspark.sql import DataFrame


def without_duplicates(payments: DataFrame) -> DataFrame:
    """Return the first record of each key."""
    return payments.withWatermark("timestamp", "10 minutes").dropDuplicatesWithinWatermark(["key"])
