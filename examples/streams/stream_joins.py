"""Orders with their payments, and orders with their customers.

    stream and stream   Kafka Streams: `KStream.join(KStream, JoinWindows.of(...))`
    stream and table    Kafka Streams: `KStream.join(KTable)`; the table is a compacted topic

The table is read for each batch, so an order is joined with the customers of that moment.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name

from cordwood.spark.transforms import latest


def paid_orders(orders: DataFrame, payments: DataFrame) -> DataFrame:
    """Return each order with its payment, which comes within an hour."""
    left = orders.withWatermark("timestamp", "10 minutes").alias("o")
    right = payments.withWatermark("timestamp", "10 minutes").alias("p")
    is_soon = F.expr(
        "o.key = p.key AND p.timestamp BETWEEN o.timestamp AND o.timestamp + INTERVAL 1 HOUR"
    )
    return left.join(right, is_soon).select(
        "o.key", F.col("o.value").alias("order"), F.col("p.value").alias("payment")
    )


def orders_of_customers(orders: DataFrame, customers: DataFrame) -> DataFrame:
    """Return each order with the last record of its customer; `customers` is not a stream."""
    known = latest(customers).select("key", F.col("value").alias("customer"))
    return orders.join(known, "key", "left").select("key", "value", "customer")
