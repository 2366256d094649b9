"""Batches of a pipeline into its table; `tests/spark` writes them from queries."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytest.importorskip("deltalake", reason="the extra spark is not installed")

from deltalake import DeltaTable

from cordwood.core.errors import SettingError
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


def test_upsert_keeps_the_row_with_the_highest_offset(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("table")
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "q")
    columns = "key string, offset long, value string"
    rows = [("a", 2, "new"), ("a", 1, "old"), ("b", 3, None)]

    upserting(folder)(spark.createDataFrame(rows, columns), 0)

    found = DeltaTable(folder).to_pyarrow_table().to_pylist()
    assert found == [{"key": "a", "offset": 2, "value": "new"}]
    assert DeltaTable(folder).history(1)[0]["cordwood.offsets"] == "after 0"
