"""The value of the fixture `spark_kafka`: a broker per test, and one session for all tests.

spark      a session with the data source registered, on two cores of this machine
kafka      the broker of the fixture `kafka`; `bootstrap` is its address
frame      the records of a topic, as a DataFrame
stream     the records of a topic, as a streaming query that keeps the rows of each batch
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import cordwood.spark
from cordwood.spark.runtime.stream_settings import SHORT_BATCHES
from cordwood.testing.kafka_fixture import Kafka
from cordwood.testing.spark_stream import SparkStream

if TYPE_CHECKING:
    from cordwood.spark.runtime.session import DataFrame, SparkSession

_SETTINGS: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    **SHORT_BATCHES,
}


@dataclass(frozen=True, slots=True)
class SparkKafka:
    """A Spark session and a broker."""

    spark: "SparkSession"
    kafka: Kafka

    @property
    def bootstrap(self) -> str:
        """The broker's address, for `kafka.bootstrap.servers` and clients."""
        return self.kafka.bootstrap

    def frame(self, topic: str, **options: str) -> "DataFrame":
        """Return the records of a topic, read from the broker, with spark-sql-kafka's columns."""
        options = {"subscribe": topic, "kafka.bootstrap.servers": self.bootstrap, **options}
        return self.spark.read.format("cordwood").options(**options).load()

    @contextmanager
    def stream(self, topic: str, **options: str) -> Iterator[SparkStream]:
        """Yield a stream of a topic, not started, with a checkpoint of its own.

        It starts at the earliest offsets, or at `startingOffsets`, and is stopped at the end of
        the block.
        """
        places = {"subscribe": topic, "kafka.bootstrap.servers": self.bootstrap}
        options = {**places, "startingOffsets": "earliest", **options}
        with TemporaryDirectory(prefix="cordwood-stream-") as folder:
            stream = SparkStream(self.spark, Path(folder), options)
            try:
                yield stream
            finally:
                stream.stop()


@contextmanager
def spark_for_tests() -> Iterator["SparkSession"]:
    """Yield a session with the data source; its workers import the modules of the tests."""
    from cordwood.spark.runtime.session import session  # noqa: PLC0415  # pyspark: 0.5 s

    paths = os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))
    conf = {**_SETTINGS, "spark.executorEnv.PYTHONPATH": paths}
    with session("tests", master="local[2]", conf=conf) as spark:
        cordwood.spark.register(spark)
        yield spark
