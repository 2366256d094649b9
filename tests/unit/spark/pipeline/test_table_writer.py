"""Batches of a pipeline into its table; `tests/spark` writes them from queries."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytest.importorskip("deltalake", reason="the extra spark is not installed")

from deltalake import DeltaTable

from cordwood.core.errors import SettingError, TableError
from cordwood.spark.pipeline.pipeline_definition import TableSink
from cordwood.spark.pipeline.table_writer import TableWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def upserting(folder: Path) -> TableWriter:
    """Return a writer that keeps the last row of each key."""
    sink = TableSink(format="delta", to=str(folder), mode="upsert", key=("key",))
    return TableWriter(sink, lambda batch_id: f"after {batch_id}")


def test_upsert_needs_its_columns(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "q")
    frame = spark.sql("SELECT 'a' AS key, 1 AS value")

    with pytest.raises(SettingError, match="the rows have no column offset"):
        upserting(tmp_path_factory.mktemp("table"))(frame, 0)


def test_row_without_a_key_is_rejected(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "q")
    frame = spark.sql("SELECT string(null) AS key, 1L AS offset, 'v' AS value")

    with pytest.raises(SettingError, match="a row has no key: its key is null"):
        upserting(tmp_path_factory.mktemp("table"))(frame, 0)


@pytest.mark.parametrize(("batch", "offsets"), ((0, "other"), (-1, "after -1")))
def test_table_that_is_ahead_of_the_checkpoint_is_rejected(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory, batch: int, offsets: str
) -> None:
    folder = tmp_path_factory.mktemp("table")
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "q")
    frame = spark.sql("SELECT 'a' AS key, 1L AS offset, 'v' AS value")
    upserting(folder)(frame, 0)
    sink = TableSink(format="delta", to=str(folder), mode="upsert", key=("key",))

    with pytest.raises(TableError, match=r"has batch 0 of the pipeline \(offsets after 0\)"):
        TableWriter(sink, lambda _: offsets)(frame, batch)

    upserting(folder)(frame, 0)


def test_upsert_keeps_the_row_with_the_highest_offset(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("table")
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "q")
    columns = "key string, offset long, value string"
    rows = [("a", 2, "new"), ("a", 1, "old"), ("b", 3, None), ("c", None, "x")]

    upserting(folder)(spark.createDataFrame(rows, columns), 0)

    found = DeltaTable(folder).to_pyarrow_table().to_pylist()
    assert sorted((row["key"], row["value"]) for row in found) == [("a", "new"), ("c", "x")]
    assert DeltaTable(folder).history(1)[0]["cordwood.offsets"] == "after 0"


def test_names_with_dots_are_columns(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("table")
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "q")
    rows = spark.createDataFrame([("a", 1, "old"), ("a", 2, "new")], ["a.b", "a.c", "value"])
    sink = TableSink(format="delta", to=str(folder), mode="upsert", key=("a.b",), order="a.c")

    TableWriter(sink, str)(rows, 0)

    found = DeltaTable(folder).to_pyarrow_table().to_pylist()
    assert found == [{"a.b": "a", "a.c": 2, "value": "new"}]
