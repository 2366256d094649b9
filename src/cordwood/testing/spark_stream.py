"""A streaming query for tests: start, catch up, stop, and start again from the checkpoint.

    stream.start()                       a query that waits for records
    stream.catch_up()                    returns when every record sent so far is in a batch
    stream.stop(); stream.start()        continues at the checkpoint
    stream.run()                         everything that is available now, in batches
    stream.rows, stream.batches          the rows by batch, in the order of partitions and offsets

`catch_up` does not sleep: it waits in Spark until a trigger finds no new records.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cordwood.spark.runtime.session import (
        DataFrame,
        DataStreamWriter,
        Row,
        SparkSession,
        StreamingQuery,
    )


class SparkStream:
    """One stream with its checkpoint; `deliveries` are the numbers of batches as Spark ran them."""

    def __init__(self, spark: "SparkSession", folder: Path, options: Mapping[str, str]) -> None:
        self._spark = spark
        self.options = dict(options)
        self.checkpoint = folder / "checkpoint"
        self.query: StreamingQuery | None = None
        self.batches: dict[int, list[Row]] = {}
        self.deliveries: list[int] = []
        self.through: Callable[[DataFrame], DataFrame] | None = None

    @property
    def rows(self) -> "list[Row]":
        """The rows of all batches, each batch once."""
        return [row for number in sorted(self.batches) for row in self.batches[number]]

    def start(self) -> "StreamingQuery":
        """Start a query as fast as it can, or continue at the checkpoint."""
        self.query = self._writer().trigger(processingTime="0 seconds").start()
        return self.query

    def run(self, *, once: bool = False) -> None:
        """Run a query to its end, by Trigger.AvailableNow or in one batch by Trigger.Once."""
        writer = self._writer()
        writer = writer.trigger(once=True) if once else writer.trigger(availableNow=True)
        self.query = writer.start()
        self.query.awaitTermination()

    def catch_up(self) -> None:
        """Wait until the query has every record that was sent before; raise its error."""
        assert self.query is not None, "call start first"
        self.query.processAllAvailable()

    def stop(self) -> None:
        """Stop the query, if one runs."""
        if self.query is not None:
            self.query.stop()

    def _writer(self) -> "DataStreamWriter":
        frame = self._spark.readStream.format("cordwood").options(**self.options).load()
        if self.through is not None:
            frame = self.through(frame)
        writer = frame.writeStream.foreachBatch(self._keep)
        return writer.option("checkpointLocation", str(self.checkpoint))

    def _keep(self, batch: "DataFrame", number: int) -> None:
        self.batches[number] = sorted(batch.collect(), key=_place)
        self.deliveries.append(number)


def _place(row: "Row") -> tuple[object, ...]:
    """Return the order of a row; rows of other columns keep theirs."""
    known = row.asDict()
    return tuple(known[name] for name in ("topic", "partition", "offset") if name in known)
