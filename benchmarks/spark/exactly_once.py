"""How much does exactly once cost the sink, next to the same sink at least once?

    python -m benchmarks.spark.exactly_once [--full]

A batch write of rows of 100 B that Spark makes, and micro-batches of one task, into a broker of
Kafka 4.3. Both deliveries take turns in one session of two cores; the best round counts, and the
median of the batches of a stream. Python's workers use unix sockets, and checkpoints the manager of
local disks, as docs/exactly-once-sink.md recommends.
To compare two commits, run it on both, one after the other, on a machine that does nothing else.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from threading import Event
from time import perf_counter
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.kafka.peers import running_kafka
from benchmarks.results import keep
from cordwood.spark import register
from cordwood.spark.runtime.stream_settings import SHORT_BATCHES

DELIVERIES: Final = ("exactly-once", "at-least-once")
PEER: Final = "at least once"
PARTITIONS: Final = 4
ROUNDS: Final = 3
_MILLION: Final = 1e6
_CONF: Final = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    **SHORT_BATCHES,
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


class Size(NamedTuple):
    """Rows of a batch write, and micro-batches of a stream with their rows.

    The first writes and batches do not count: caches and code are still cold.
    """

    rows: int
    batches: int
    rows_of_batch: int
    first_writes: int = 1
    first_batches: int = 5


SMALL: Final = Size(200_000, 12, 1_000)
FULL: Final = Size(3_000_000, 40, 10_000)
#: For a test that the benchmark runs.
TINY: Final = Size(2_000, 1, 50, first_writes=0, first_batches=0)


def figures(size: Size = SMALL, rounds: int = ROUNDS) -> Iterator[Figure]:
    """Measure both deliveries in turns."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with ExitStack() as stack:
        broker, folder = stack.enter_context(running_kafka())
        builder = SparkSession.builder.master("local[2]")
        for name, text in _CONF.items():
            builder = builder.config(name, text)
        spark = builder.getOrCreate()
        stack.callback(spark.stop)
        register(spark)
        bench = Bench(spark, broker.bootstrap, folder)
        yield bench.writing(size, rounds)
        yield bench.streaming(size)


class Bench:
    """A session that writes into a broker."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._folder = folder
        self._topics = 0

    def writing(self, size: Size, rounds: int) -> Figure:
        """Return the rates of a batch write."""
        frame = self._spark.range(0, size.rows, 1, 2).selectExpr(
            "CAST(id AS STRING) AS key",
            "CAST(rpad(CAST(id AS STRING), 100, 'x') AS BINARY) AS value",
        )
        seconds: dict[str, list[float]] = {each: [] for each in DELIVERIES}
        for _ in range(rounds + size.first_writes):
            for delivery in DELIVERIES:
                writer = frame.write.format("cordwood").mode("append")
                start = perf_counter()
                writer.options(**self._options(delivery)).save()
                seconds[delivery].append(perf_counter() - start)
        ours, theirs = (
            size.rows / min(seconds[each][size.first_writes :]) / _MILLION for each in DELIVERIES
        )
        return Figure(
            name="Spark writes exactly once, 100 B",
            value=ours,
            unit="M rec/s",
            peer=PEER,
            peer_value=theirs,
            ratio=ours / theirs,
            goal=0.8,
        )

    def streaming(self, size: Size) -> Figure:
        """Return the times of a micro-batch with one task."""
        ours, theirs = (self._micro_batch(each, size) for each in DELIVERIES)
        return Figure(
            name=f"a micro-batch of {size.rows_of_batch:,} rows, exactly once",
            value=ours,
            unit="ms",
            peer=PEER,
            peer_value=theirs,
            ratio=theirs / ours,
            goal=250,
            bound=Bound.MOST,
        )

    def _micro_batch(self, delivery: str, size: Size) -> float:
        """Return the median time of a batch in milliseconds."""
        source = self._spark.readStream.format("rate-micro-batch")
        frame = (
            source.option("rowsPerBatch", str(size.rows_of_batch))
            .option("numPartitions", "1")
            .load()
        )
        query = (
            frame.selectExpr(
                "CAST(value AS STRING) AS key", "rpad(string(value), 100, 'x') AS value"
            )
            .writeStream.format("cordwood")
            .options(**self._options(delivery))
            .option("checkpointLocation", str(self._folder / delivery))
            .start()
        )
        waiting = Event()
        while query.isActive and len(query.recentProgress) < size.batches + size.first_batches:
            waiting.wait(0.05)
        times = [
            each["durationMs"]["triggerExecution"]
            for each in query.recentProgress
            if each["numInputRows"]
        ]
        error = query.exception()
        query.stop()
        if error is not None:
            raise error
        return float(median(times[size.first_batches :]))

    def _options(self, delivery: str) -> dict[str, str]:
        """Return the options of a write into a new topic."""
        self._topics += 1
        topic = f"written-{self._topics}"
        with cordwood.Admin(self._bootstrap) as admin:
            admin.create_topic(topic, partitions=PARTITIONS)
        return {
            "kafka.bootstrap.servers": self._bootstrap,
            "topic": topic,
            "delivery": delivery,
        }


if __name__ == "__main__" and "--tiny" in sys.argv:
    for tiny in figures(TINY, rounds=1):
        print(tiny)
elif __name__ == "__main__":
    keep(figures(FULL if "--full" in sys.argv else SMALL))
