"""Traps of streams with Python sources: they exist; `docs/spark-traps.md` lists the solutions."""

from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.errors import PySparkException

from tests.spark.naive_sink import NaiveSink
from tests.spark.naive_source import NaiveSource
from tests.spark.naive_stream import LIMIT, ROWS, NaiveStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

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


def test_spark_plans_the_table_of_a_stream_once(spark: "SparkSession", tmp_path: Path) -> None:
    for source in (NaiveSource, NaiveStream):
        spark.dataSource.register(source)
    table = spark.read.format("naive").option("plans", str(tmp_path / "plans")).load()
    options = {"trace": str(tmp_path / "trace"), "targeted": "true"}
    stream = spark.readStream.format("naive-stream").options(**options).load()

    writer = stream.join(table, "n", "left").writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(tmp_path / "stream"))
    writer.trigger(availableNow=True).start().awaitTermination()

    calls = (tmp_path / "trace").read_text().splitlines()
    assert sum(call.startswith("partitions") for call in calls) == ROWS // LIMIT
    assert (tmp_path / "plans").stat().st_size == 1


def committed(
    spark: "SparkSession", folder: Path, *, action: str = "", mode: str = "append"
) -> "StreamingQuery":
    """Start a query of one batch into the sink that notes its calls."""
    spark.dataSource.register(NaiveStream)
    spark.dataSource.register(NaiveSink)
    options = {"trace": str(folder / "reads"), "targeted": "false"}
    frame = spark.readStream.format("naive-stream").options(**options).load()
    writer = frame.writeStream.format("naive-sink").option("folder", str(folder))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).outputMode(mode)
    return writer.option("action", action).trigger(availableNow=True).start()


def calls_of_sink(folder: Path) -> list[list[str]]:
    trace = folder / "trace"
    return [line.split() for line in trace.read_text().splitlines()] if trace.exists() else []


def test_spark_makes_the_writer_of_a_batch_twice_in_two_processes(
    spark: "SparkSession", tmp_path: Path
) -> None:
    committed(spark, tmp_path).awaitTermination()

    calls = calls_of_sink(tmp_path)
    assert [call[0] for call in calls] == ["streamWriter", "write", "streamWriter", "commit"]
    first, second = calls[0], calls[2]
    assert (first[1], second[1]) == ("planning", "committing")
    assert first[2] != second[2]
    assert calls[3] == ["commit", "0", str(ROWS)]


def test_spark_passes_its_own_options_to_a_sink(spark: "SparkSession", tmp_path: Path) -> None:
    committed(spark, tmp_path).awaitTermination()

    assert calls_of_sink(tmp_path)[0][3].split(",") == ["action", "checkpointlocation", "folder"]


def test_spark_aborts_a_batch_with_all_messages_after_its_commit_has_failed(
    spark: "SparkSession", tmp_path: Path
) -> None:
    with pytest.raises(PySparkException, match="the commit fails"):
        committed(spark, tmp_path, action="fail").awaitTermination()

    assert [call for call in calls_of_sink(tmp_path) if call[0] in {"commit", "abort"}] == [
        ["commit", "0", str(ROWS)],
        ["abort", "0", str(ROWS)],
    ]


def test_spark_repeats_a_batch_whose_query_was_stopped_during_its_commit(
    spark: "SparkSession", tmp_path: Path
) -> None:
    query, waiting = committed(spark, tmp_path, action="wait"), Event()
    while ["commit", "0", str(ROWS)] not in calls_of_sink(tmp_path):
        assert query.exception() is None
        waiting.wait(0.02)
    stopping = Thread(target=query.stop)
    stopping.start()
    while query.isActive:
        waiting.wait(0.02)
    (tmp_path / "released").touch()
    stopping.join()

    committed(spark, tmp_path).awaitTermination()

    calls = calls_of_sink(tmp_path)
    assert [call for call in calls if call[0] == "commit"] == [["commit", "0", str(ROWS)]] * 2
    assert not [call for call in calls if call[0] == "abort"]


def test_spark_has_no_update_mode_for_python_sinks(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="naive-sink does not support Update mode"):
        committed(spark, tmp_path, mode="update").awaitTermination()
