"""A driver of a stream that dies by SIGKILL, with its JVM, at a given place.

    stream_program.py FOLDER OPTIONS PLACE BATCH      PLACE is `batch` or `commit`

`batch` is inside the batch, after its rows are written and before Spark's commit log; `commit` is
after the commit log. The rows of a batch are a file, which a repeated batch replaces.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pyspark.sql.streaming.listener import StreamingQueryListener

import cordwood.spark
from cordwood.spark.runtime.session import DataFrame, SparkSession, session

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


def write_batch(folder: Path, batch: DataFrame, number: int) -> None:
    """Write the values of a batch, and count its deliveries."""
    rows = sorted(int(row.value) for row in batch.select("value").collect())
    with (folder / "deliveries").open("a") as deliveries:
        deliveries.write(f"{number}\n")
    (folder / f"batch-{number}.json").write_text(json.dumps(rows))


class Killer(StreamingQueryListener):
    """Kills the driver when a batch is in the commit log."""

    def __init__(self, spark: SparkSession, batch: int) -> None:
        self._jvm = jvm_of(spark)
        self._batch = batch

    def onQueryStarted(self, event: "QueryStartedEvent") -> None:  # noqa: N802  # Spark's name
        """Do nothing."""

    def onQueryProgress(self, event: "QueryProgressEvent") -> None:  # noqa: N802  # as above
        """Die after the batch."""
        if event.progress.batchId == self._batch:
            die(self._jvm)

    def onQueryTerminated(self, event: "QueryTerminatedEvent") -> None:  # noqa: N802  # as above
        """Do nothing."""


def jvm_of(spark: SparkSession) -> int:
    """Return the process of the session's JVM."""
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # noqa: SLF001  # no public name


def die(jvm: int) -> NoReturn:
    """Kill the JVM and this process."""
    os.kill(jvm, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("dead")


def main() -> None:
    """Run the stream until it dies."""
    folder, options, place, batch = Path(sys.argv[1]), json.loads(sys.argv[2]), *sys.argv[3:]
    with session("stream", master="local[2]", conf={"spark.driver.memory": "512m"}) as spark:
        jvm = jvm_of(spark)

        def keep(rows: DataFrame, number: int) -> None:
            write_batch(folder, rows, number)
            if place == "batch" and number == int(batch):
                die(jvm)

        if place == "commit":
            spark.streams.addListener(Killer(spark, int(batch)))
        frame = cordwood.spark.read_stream(spark, **options)
        writer = frame.writeStream.foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
