"""What Spark is told of the source before any task runs."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType

from cordwood.core.errors import SettingError
from cordwood.spark.source import CordwoodSource
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

pytestmark = pytest.mark.spark


def test_source_has_the_columns_of_spark_sql_kafka() -> None:
    schema = CordwoodSource({"path": "logs"}).schema()

    assert schema.startswith("key binary, value binary, topic string, partition int, offset long")
    assert "headers" not in schema


def test_source_has_the_columns_that_are_asked_for() -> None:
    assert CordwoodSource({"path": "logs", "columns": "offset,key"}).schema() == (
        "offset long, key binary"
    )


def test_source_refuses_columns_that_there_are_not() -> None:
    with pytest.raises(SettingError, match="there is no column 'keys'"):
        CordwoodSource({"path": "logs", "columns": "keys"}).schema()


def test_reader_has_a_partition_even_where_there_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(b"")
    reader = CordwoodSource({"path": str(tmp_path)}).reader(_offsets_alone())

    (partition,) = reader.partitions()

    assert list(reader.read(partition)) == []


def test_reader_yields_the_columns_of_the_schema_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(v2(0) + v2(1))
    reader = CordwoodSource({"path": str(tmp_path)}).reader(_offsets_alone())

    (partition,) = reader.partitions()

    assert list(reader.read(partition)) == [pa.record_batch({"offset": [0, 1]})]


def _offsets_alone() -> StructType:
    return StructType([StructField("offset", LongType())])
