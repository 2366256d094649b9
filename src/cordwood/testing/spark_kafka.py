"""What the fixture `spark_kafka` gives: a broker of the test's own, and the session of all tests.

spark      a session that knows the source, on two cores of this machine
kafka      the broker, as the fixture `kafka` gives it; `bootstrap` is its address
frame      what is in a topic, as a DataFrame
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import cordwood.spark
from cordwood.testing.kafka import Kafka

if TYPE_CHECKING:
    from cordwood.spark.session import DataFrame, SparkSession

_SETTINGS: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}


@dataclass(frozen=True, slots=True)
class SparkKafka:
    """A session and a broker."""

    spark: "SparkSession"
    kafka: Kafka

    @property
    def bootstrap(self) -> str:
        """The broker's address, for `kafka.bootstrap.servers` and for any client."""
        return self.kafka.bootstrap

    def frame(self, topic: str, **options: str) -> "DataFrame":
        """Return the records of a topic, read from the broker, as spark-sql-kafka's columns."""
        options = {"subscribe": topic, "kafka.bootstrap.servers": self.bootstrap, **options}
        return self.spark.read.format("cordwood").options(**options).load()


@contextmanager
def spark_for_tests() -> Iterator["SparkSession"]:
    """Yield a session that knows the source; its workers find the modules that the tests find."""
    from cordwood.spark.session import session  # noqa: PLC0415  # pyspark: 0.5 s

    paths = os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))
    conf = {**_SETTINGS, "spark.executorEnv.PYTHONPATH": paths}
    with session("tests", master="local[2]", conf=conf) as spark:
        cordwood.spark.register(spark)
        yield spark
