"""Sessions of each visitor: clicks with less than half an hour between them.

Kafka Streams: `windowedBy(SessionWindows.ofInactivityGapAndGrace(...))`.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name


def sessions(clicks: DataFrame) -> DataFrame:
    """Return a row for each session that has ended."""
    found = (
        clicks.withWatermark("timestamp", "5 minutes")
        .groupBy(F.session_window("timestamp", "30 minutes"), F.col("key"))
        .agg(F.count("*").alias("clicks"))
    )
    return found.select("key", "session_window.start", "session_window.end", "clicks")
