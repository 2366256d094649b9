"""Orders of each product in windows of ten minutes, by the timestamps of the records.

Kafka Streams: `groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(...)).count()`. A window is
emitted once the watermark has passed its end: records that come later are left out.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name


def windowed_counts(orders: DataFrame) -> DataFrame:
    """Return a row for each product and window, ready for the sink."""
    counts = (
        orders.withWatermark("timestamp", "5 minutes")
        .groupBy(F.window("timestamp", "10 minutes"), F.col("key"))
        .count()
    )
    value = F.to_json(F.struct(F.col("window.start").alias("start"), "count"))
    return counts.select("key", value.alias("value"))
