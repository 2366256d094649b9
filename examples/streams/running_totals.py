"""The running total of each account, with state of one's own (`transformWithState`).

Kafka Streams: a `Processor` with a key-value store. The session needs the state store RocksDB:
`spark.sql.streaming.stateStore.providerClass` = STORE.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructType

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues, ValueState

STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_OUTPUT = "key string, total long"


class RunningTotal(StatefulProcessor):
    """Adds the amounts of one account to its total."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state of the account."""
        self._total: ValueState = handle.getValueState(
            "total", StructType().add("total", LongType())
        )

    def handleInputRows(  # noqa: N802  # as Spark calls it
        self,
        key: tuple[str],
        rows: Iterator[Row],
        timerValues: "TimerValues",  # noqa: ARG002, N803  # as above
    ) -> Iterator[Row]:
        """Return the total after the rows of a batch."""
        before = self._total.get()
        total = (before[0] if before else 0) + sum(row.amount for row in rows)
        self._total.update((total,))
        yield Row(key=key[0], total=total)

    def close(self) -> None:
        """Do nothing: Spark keeps the state."""


def running_totals(bookings: DataFrame) -> DataFrame:
    """Return the total of each account that a batch has changed."""
    amounts = bookings.select(
        F.col("key").cast("string"), F.col("value").cast("string").cast("long").alias("amount")
    )
    return amounts.groupBy("key").transformWithState(
        statefulProcessor=RunningTotal(),
        outputStructType=_OUTPUT,
        outputMode="Append",
        timeMode="None",
    )
