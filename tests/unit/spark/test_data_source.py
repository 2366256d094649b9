"""The data source before any task runs: schema, readers and rejected options."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, GreaterThan
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from cordwood.core.errors import SettingError
from cordwood.spark.data_source import CordwoodSource
from cordwood.spark.source.batch_reader import FilteringReader
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.stream.stream_reader import CordwoodStreamReader
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

pytestmark = pytest.mark.spark


def test_source_has_the_columns_of_spark_sql_kafka() -> None:
    schema = str(CordwoodSource({"path": "logs"}).schema())

    assert schema.startswith("key binary, value binary, topic string, partition int, offset long")
    assert "headers" not in schema


def test_source_has_the_columns_of_the_option() -> None:
    assert CordwoodSource({"path": "logs", "columns": "offset,key"}).schema() == (
        "offset long, key binary"
    )


def test_source_rejects_unknown_columns() -> None:
    with pytest.raises(SettingError, match="unknown column: 'keys'"):
        CordwoodSource({"path": "logs", "columns": "keys"}).schema()


@pytest.mark.parametrize(
    ("columns", "words"),
    (
        ("OFFSET", "did you mean offset"),
        ("timestamptype", "did you mean timestampType"),
        ("offset,key,offset", "duplicate column: offset"),
        ("payload", "choose from key, value"),
    ),
)
def test_error_lists_the_known_columns(columns: str, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        CordwoodSource({"path": "logs", "columns": columns}).schema()


def test_reader_rejects_a_schema_with_other_types() -> None:
    schema = StructType([StructField("key", StringType()), StructField("offset", LongType())])

    with pytest.raises(
        SettingError, match="column key has type binary, not string; declare key binary"
    ):
        CordwoodSource({"path": "logs"}).reader(schema)


def test_reader_rejects_a_schema_that_is_not_nullable() -> None:
    schema = StructType([StructField("offset", LongType(), nullable=False)])

    with pytest.raises(SettingError, match="column offset is nullable; remove NOT NULL"):
        CordwoodSource({"path": "logs"}).reader(schema)


def test_reader_rejects_an_empty_schema() -> None:
    with pytest.raises(SettingError, match="no column is given"):
        CordwoodSource({"path": "logs"}).reader(StructType([]))


def test_reader_accepts_the_schema_of_the_source() -> None:
    entry = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
    types = {
        "key": BinaryType(),
        "value": BinaryType(),
        "topic": StringType(),
        "partition": IntegerType(),
        "offset": LongType(),
        "timestamp": TimestampType(),
        "timestampType": IntegerType(),
        "headers": ArrayType(entry),
    }
    schema = StructType([StructField(name, each) for name, each in types.items()])

    CordwoodSource({"path": "logs"}).reader(schema)


def test_reader_has_a_partition_for_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(b"")
    reader = CordwoodSource({"path": str(tmp_path)}).reader(_offsets_alone())

    (partition,) = reader.partitions()

    assert list(reader.read(partition)) == []


def test_reader_yields_only_the_columns_of_its_schema(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(v2(0) + v2(1))
    reader = CordwoodSource({"path": str(tmp_path)}).reader(_offsets_alone())

    (partition,) = reader.partitions()

    assert list(reader.read(partition)) == [pa.record_batch({"offset": [0, 1]})]


@pytest.mark.parametrize("is_wanted", ("true", "false"))
def test_reader_accepts_filters_when_spark_supports_them_and_they_are_enabled(
    monkeypatch: pytest.MonkeyPatch, is_wanted: str
) -> None:
    planner = "pyspark.sql.worker.data_source_pushdown_filters"
    monkeypatch.setitem(sys.modules, planner, sys.modules[__name__])

    reader = CordwoodSource({"path": "logs", "pushFilters": is_wanted}).reader(_offsets_alone())

    assert isinstance(reader, FilteringReader) is (is_wanted == "true")


def test_reader_does_not_filter_when_spark_does_not_support_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(
        sys.modules, "pyspark.sql.worker.data_source_pushdown_filters", raising=False
    )

    reader = CordwoodSource({"path": "logs", "pushFilters": "true"}).reader(_offsets_alone())

    assert not isinstance(reader, FilteringReader)


def test_reader_applies_its_filters(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(v2(0, 9))
    reader = FilteringReader(SourceOptions(paths=(str(tmp_path),)), ("offset",))

    remaining = reader.pushFilters([GreaterThan(("offset",), 7)])

    (partition,) = reader.partitions()
    assert list(remaining) == []
    assert list(reader.read(partition)) == [pa.record_batch({"offset": [8, 9]})]


def test_options_of_a_table_in_the_catalog_are_in_its_schema(tmp_path: Path) -> None:
    """Spark passes them when the table is created, with its own; later it passes the schema."""
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(v2(0) + v2(1))
    created = CordwoodSource(
        {
            "path": f"file:{tmp_path}",
            "location": f"file:{tmp_path}",
            "columns": "offset",
            "option.columns": "offset",
            "owner": "root",
            "provider": "cordwood",
            "anything": "of TBLPROPERTIES",
        }
    ).schema()

    assert isinstance(created, StructType)
    reader = CordwoodSource({}).reader(created)
    limited = CordwoodSource({"endingOffsets": '{"orders": {"0": 1}}'}).reader(created)
    stream = CordwoodSource({"maxOffsetsPerTrigger": "5"}).streamReader(created)

    assert [_rows(each) for each in (reader, limited)] == [[0, 1], [0]]
    assert isinstance(stream, CordwoodStreamReader)


def _rows(reader: DataSourceReader) -> list[int]:
    (partition,) = reader.partitions()
    rows: list[int] = pa.Table.from_batches(reader.read(partition))["offset"].to_pylist()
    return rows


def test_table_with_a_column_list_has_no_options() -> None:
    with pytest.raises(SettingError, match="create a table without a column list"):
        CordwoodSource({}).reader(_offsets_alone())


def _offsets_alone() -> StructType:
    return StructType([StructField("offset", LongType())])


def test_stream_has_a_reader() -> None:
    reader = CordwoodSource({"path": "logs", "maxOffsetsPerTrigger": "5"}).streamReader(
        _offsets_alone()
    )

    assert isinstance(reader, CordwoodStreamReader)


def test_stream_with_wrong_options_is_rejected_when_it_starts() -> None:
    reader = CordwoodSource({"path": "logs", "maxOffset": "5"}).streamReader(_offsets_alone())

    with pytest.raises(SettingError, match="unknown option: maxoffset"):
        reader.initialOffset()


@pytest.mark.parametrize(
    "options", ({"startingOffsets": "latest"}, {"maxOffsetsPerTrigger": "5"}, {"groupId": "g"})
)
def test_schema_of_a_stream_needs_no_options_of_a_batch(options: dict[str, str]) -> None:
    source = CordwoodSource(
        {"kafka.bootstrap.servers": "broker:9092", "subscribe": "orders", **options}
    )

    assert str(source.schema()).startswith("key binary")
    with pytest.raises(SettingError):
        source.reader(_offsets_alone())


def test_schema_error_is_that_of_a_stream_if_only_streams_have_an_option() -> None:
    with pytest.raises(SettingError, match="applies to batch reads only"):
        CordwoodSource(
            {"path": "logs", "endingOffsets": "latest", "maxOffsetsPerTrigger": "5"}
        ).schema()


def test_timestamp_type_does_not_depend_on_the_session() -> None:
    schema = CordwoodSource({"path": "logs", "columns": "timestamp"}).schema()

    assert str(schema).endswith("_ltz")
