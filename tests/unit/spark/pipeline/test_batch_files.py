"""Files of one micro-batch."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

from cordwood.spark.pipeline.batch_files import table_schema, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_each_task_with_rows_writes_a_file(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    frame = spark.range(0, 6, numPartitions=3).where("id > 1")

    files = write_files(frame, str(folder))

    assert [file.rows for file in files] == [2, 2]
    tables = [pq.read_table(folder / file.path) for file in files]
    assert pa.concat_tables(tables).column("id").to_pylist() == [2, 3, 4, 5]
    assert [file.size for file in files] == [(folder / file.path).stat().st_size for file in files]


def test_columns_of_a_table_are_nullable(spark: "SparkSession") -> None:
    assert table_schema(spark.range(1)) == pa.schema([("id", pa.int64())])
