"""Orders with their payments, and orders with their customers.

    stream and stream   Kafka Streams: `KStream.join(KStream, JoinWindows.of(...))`
    stream and table    Kafka Streams: `KStream.join(KTable)`; the table is a compacted topic

Spark plans a table of a Python source once for a query, with the end offsets of that moment. So a
query that joins a table with a stream does not see later records of the table. A function of
`foreachBatch` loads the table again for each batch.
"""

from collections.abc import Callable
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name

from cordwood.spark.transforms import latest

#: A function of `foreachBatch`: it receives the rows of a batch and its number.
OnBatch: TypeAlias = Callable[[DataFrame, int], None]


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
    """Return each order with the last record of its customer; `customers` is a table."""
    known = latest(customers).select("key", F.col("value").alias("customer"))
    return orders.join(known, "key", "left").select("key", "value", "customer")


def with_current_customers(load: Callable[[], DataFrame], write: OnBatch) -> OnBatch:
    """Return a function of `foreachBatch` that joins each batch with the table as it is then.

    `load` returns the table, and `write` receives the joined rows.
    """

    def join(orders: DataFrame, batch: int) -> None:
        write(orders_of_customers(orders, load()), batch)

    return join
