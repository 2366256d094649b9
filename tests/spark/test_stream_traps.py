"""Traps of streams with Python sources: they exist; `docs/spark-traps.md` lists the solutions."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from tests.spark.naive_stream import LIMIT, ROWS, NaiveStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)


def traced(spark: "SparkSession", folder: Path, *, targeted: bool) -> list[str]:
    """Return the calls of Spark during an AvailableNow query."""
    spark.dataSource.register(NaiveStream)
    options = {"trace": str(folder / "trace"), "targeted": str(targeted).lower()}
    frame = spark.readStream.format("naive-stream").options(**options).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder / "stream"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return (folder / "trace").read_text().splitlines()


def test_spark_calls_a_stream_reader_late_twice_or_never(
    spark: "SparkSession", tmp_path: Path
) -> None:
    calls = traced(spark, tmp_path, targeted=True)

    planned = [call for call in calls if call.startswith("partitions")]
    assert planned == [f"partitions {end}" for end in range(LIMIT, ROWS + 1, LIMIT)]
    assert calls.count("initialOffset 0") > 1
    assert f"commit {ROWS - LIMIT}" in calls
    assert f"commit {ROWS}" not in calls
    assert calls[-1] == f"latestOffset {ROWS}"
    assert {call for call in calls if call.startswith("read")} == {"read 0"}


def test_spark_ignores_the_limits_of_a_reader_without_a_target(
    spark: "SparkSession", tmp_path: Path
) -> None:
    calls = traced(spark, tmp_path, targeted=False)

    planned = [call for call in calls if call.startswith("partitions")]
    assert planned == [f"partitions {ROWS}"]
