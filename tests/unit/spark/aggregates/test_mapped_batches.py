"""Batches of a user's function, checked against the schema."""

from datetime import UTC, datetime

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
from pyspark.sql.types import (
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from cordwood.core.errors import SettingError
from cordwood.spark.aggregates.mapped_batches import with_schema

pytestmark = pytest.mark.spark

SCHEMA = StructType([StructField("name", StringType()), StructField("total", LongType())])
TOTALS = pa.array([1, 2], pa.int64())
NAMES = pa.array(["a", "b"])


def test_columns_have_the_order_of_the_schema() -> None:
    swapped = pa.record_batch({"total": TOTALS, "name": NAMES})

    (found,) = with_schema(iter([swapped]), SCHEMA)

    assert found == pa.record_batch({"name": NAMES, "total": TOTALS})


@pytest.mark.parametrize(
    ("columns", "words"),
    (
        ({"name": NAMES, "sum": TOTALS}, "a batch with the columns name, sum"),
        ({"name": NAMES}, "a batch with the columns name"),
        ({"name": NAMES, "total": TOTALS, "more": TOTALS}, "the columns name, total, more"),
        ({"name": NAMES, "total": TOTALS.cast("int32")}, "column total has the type int"),
        ({"name": TOTALS, "total": TOTALS}, "column name has the type bigint"),
        ({"name": NAMES, "total": TOTALS.cast("duration[s]")}, "column total has the type"),
    ),
)
def test_other_columns_are_rejected(columns: dict[str, pa.Array], words: str) -> None:
    batches = with_schema(iter([pa.record_batch(columns)]), SCHEMA)

    with pytest.raises(SettingError, match=words) as raised:
        list(batches)
    assert "columns of the schema: name:string,total:bigint" in str(raised.value)


def test_result_that_is_not_a_batch_is_rejected() -> None:
    table = pa.table({"name": NAMES, "total": TOTALS})

    with pytest.raises(SettingError, match=r"yielded Table instead of a pyarrow\.RecordBatch"):
        list(with_schema(iter([table]), SCHEMA))


def test_timestamp_has_a_zone_or_none() -> None:
    schema = StructType([StructField("at", TimestampType())])
    times = pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))

    assert len(list(with_schema(iter([pa.record_batch({"at": times})]), schema))) == 1


def test_each_schema_is_checked() -> None:
    schema = StructType([StructField("n", IntegerType())])
    numbers = pa.array([1], pa.int32())
    batches = [pa.record_batch({"n": numbers}), pa.record_batch({"m": numbers})]

    with pytest.raises(SettingError, match="a batch with the columns m"):
        list(with_schema(iter(batches), schema))
