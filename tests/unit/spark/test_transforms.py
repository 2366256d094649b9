"""DataFrame transformations, in a Spark session."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.errors import PySparkException

from cordwood.core.errors import SettingError
from cordwood.spark.formats.schema_source import JSON, given_schemas
from cordwood.spark.transforms import (
    decode_avro,
    decode_json,
    decode_protobuf,
    encode_avro,
    encode_json,
    encode_protobuf,
    latest,
    unframed,
)
from tests.unit.spark.formats.protobuf_samples import FIRST as FILE
from tests.unit.spark.formats.protobuf_samples import bytes_of, file_of
from tests.unit.spark.formats.registry_server import registry_server
from tests.unit.spark.formats.test_avro_decoder import ADA, FIRST, SECOND, framed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

COLUMNS = "topic string, partition int, offset bigint, key binary, value binary"


def log(spark: "SparkSession", *rows: tuple[int, int, bytes | None, bytes | None]) -> "DataFrame":
    """Return rows of a topic: partition, offset, key and value."""
    return spark.createDataFrame([("t", *row) for row in rows], COLUMNS)


def test_latest_keeps_the_records_that_compaction_keeps(spark: "SparkSession") -> None:
    frame = log(
        spark,
        (0, 1, b"a", b"1"),
        (0, 9, b"a", b"2"),
        (0, 3, b"b", b"1"),
        (0, 5, b"b", None),
        (1, 2, b"a", b"3"),
        (0, 4, None, b"x"),
    )

    rows = frame.transform(latest)

    assert rows.columns == frame.columns
    assert sorted((row.partition, row.offset, bytes(row.value)) for row in rows.collect()) == [
        (0, 9, b"2"),
        (1, 2, b"3"),
    ]


def test_unframed_removes_the_schema_id(spark: "SparkSession") -> None:
    others = [b"\0\x80\0\0\0", b"\0\xff\xff\xff\xffx", b"\0abc", b"{...}", b"", None]
    values = [b"\0\0\0\1\0rest", b"\0\x7f\xff\xff\xff", *others]
    frame = log(spark, *((0, number, b"", value) for number, value in enumerate(values)))

    rows = frame.transform(unframed).orderBy("offset").collect()

    found = [(row.schema_id, row.payload and bytes(row.payload)) for row in rows]
    assert found[:2] == [(256, b"rest"), ((1 << 31) - 1, bytearray())]
    assert found[2:] == [(None, None)] * len(others)


def test_avro_is_decoded_and_other_values_keep_their_rows(
    spark: "SparkSession", tmp_path: Path
) -> None:
    for number, schema in ((1, FIRST), (2, SECOND)):
        (tmp_path / f"{number}.avsc").write_text(json.dumps(schema))
    values = [framed(1, FIRST, {"id": 1}), framed(2, SECOND, ADA), b"{}", None]
    frame = log(spark, *((0, number, b"", value) for number, value in enumerate(values)))

    rows = frame.transform(decode_avro, str(tmp_path)).orderBy("offset").collect()

    assert [row.record and row.record.asDict() for row in rows] == [
        {"id": 1, "by": None},
        ADA,
        None,
        None,
    ]
    assert [row.schema_id for row in rows] == [1, 2, None, None]
    assert [row.error for row in rows] == [None, None, "no schema id (begins with 7b7d)", None]
    assert [row.value and bytes(row.value) for row in rows] == values


def test_record_has_the_schema_of_the_named_reader(spark: "SparkSession") -> None:
    schemas = {1: json.dumps(FIRST), 2: json.dumps(SECOND)}
    frame = log(spark, (0, 0, b"", framed(1, FIRST, {"id": 1})))

    decoded = decode_avro(frame, schemas, reader=1)

    assert decoded.select("record.*").columns == ["id"]


def test_unknown_reader_schema_is_rejected(spark: "SparkSession") -> None:
    with pytest.raises(SettingError, match=r"schema 3 is not among \[1\]"):
        decode_avro(log(spark, (0, 0, b"", b"")), {1: json.dumps(FIRST)}, reader=3)


def test_registry_has_the_schemas_of_both_directions(spark: "SparkSession") -> None:
    with registry_server() as server:
        for schema in (FIRST, SECOND):
            server.schemas.append(("orders-value", {"schema": json.dumps(schema)}))
        frame = log(
            spark, (0, 0, b"", framed(1, FIRST, {"id": 1})), (0, 1, b"", framed(3, FIRST, ADA))
        )

        decoded = frame.transform(decode_avro, server.url, reader="orders-value")
        encoded = decoded.transform(encode_avro, server.url, schema="orders-value", into="out")

        rows = encoded.orderBy("offset").collect()
    assert bytes(rows[0].out) == framed(2, SECOND, {"id": 1, "by": None})
    assert (rows[1].out, rows[1].error) == (None, "schema 3: the registry has none")


def test_protobuf_is_decoded_and_encoded(spark: "SparkSession") -> None:
    schemas = {7: bytes_of(file_of(FILE))}
    frame = log(spark, (0, 0, b"", b"\0\0\0\0\7\0\x08\5"), (0, 1, b"", b"?"), (0, 2, b"", None))

    decoded = frame.transform(decode_protobuf, schemas)
    rows = decoded.transform(encode_protobuf, schemas, into="out").orderBy("offset").collect()

    assert [row.record and row.record.id for row in rows] == [5, None, None]
    assert [row.error for row in rows] == [None, "no schema id (begins with 3f)", None]
    assert [row.out and bytes(row.out) for row in rows] == [b"\0\0\0\0\7\0\x08\5", None, None]


def test_json_is_decoded_and_encoded(spark: "SparkSession") -> None:
    values = [b'{"id": 1, "by": "ada"}', b'{"id": "x"}', b"?", b"", b"null", None]
    frame = log(spark, *((0, number, b"", value) for number, value in enumerate(values)))

    decoded = frame.transform(decode_json, "id long, by string")
    rows = decoded.transform(encode_json, into="out").orderBy("offset").collect()

    bad = "not JSON of these columns: "
    assert [row.record and row.record.asDict() for row in rows] == [{"id": 1, "by": "ada"}] + [
        None
    ] * 5
    assert [row.error for row in rows] == [
        None,
        f'{bad}{{"id": "x"}}',
        f"{bad}?",
        bad,
        f"{bad}null",
        None,
    ]
    assert [row.out and bytes(row.out) for row in rows] == [b'{"id":1,"by":"ada"}'] + [None] * 5


@pytest.mark.parametrize(
    "value",
    (
        b'{"id": 1} ?',
        b'{"id": 1}\n{"id": 2}',
        b'{"id": 1},{"id": 2}',
        b'{"id": 1}}',
        b'[{"id": 1}]',
        b'{"by": "\xff"}',
    ),
)
def test_value_that_is_not_one_json_text_in_utf_8_is_bad(
    spark: "SparkSession", value: bytes
) -> None:
    frame = log(spark, (0, 0, b"", value))

    (row,) = frame.transform(decode_json, "id long, by string").collect()

    assert row.record is None
    assert row.error.startswith("not JSON of these columns: ")


def test_spark_reads_the_last_of_equal_json_names(spark: "SparkSession") -> None:
    frame = log(spark, (0, 0, b"", b'{"id": 1, "id": 2}'))

    (row,) = frame.transform(decode_json, "id long").collect()

    assert (row.record.id, row.error) == (2, None)


def test_json_with_a_schema_id_has_the_columns_of_its_schema(spark: "SparkSession") -> None:
    schemas = given_schemas({7: '{"properties": {"id": {"type": "integer"}}}'}, JSON)
    frame = log(spark, (0, 0, b"", b'\0\0\0\0\7{"id": 1}'), (0, 1, b"", b'{"id": 1}'))

    decoded = frame.transform(decode_json, schemas=schemas)
    rows = decoded.transform(encode_json, schemas=schemas, into="out").orderBy("offset").collect()

    assert [(row.schema_id, row.record and row.record.id, row.error) for row in rows] == [
        (7, 1, None),
        (None, None, "no schema id"),
    ]
    assert [row.out and bytes(row.out) for row in rows] == [b'\0\0\0\0\7{"id":1}', None]


def test_json_schema_of_no_object_is_rejected(spark: "SparkSession") -> None:
    schemas = given_schemas({7: '{"type": "string"}'}, JSON)

    with pytest.raises(SettingError, match="schema 7 is of string, not of an object"):
        decode_json(log(spark, (0, 0, b"", b"")), schemas=schemas)
    with pytest.raises(SettingError, match="neither columns nor schemas"):
        decode_json(log(spark, (0, 0, b"", b"")))


@pytest.mark.parametrize("taken", ("schema_id", "payload"))
def test_columns_of_the_frame_are_not_overwritten(spark: "SparkSession", taken: str) -> None:
    frame = log(spark, (0, 0, b"", b"")).withColumnRenamed("key", taken)

    with pytest.raises(SettingError, match=f"column {taken} already exists"):
        unframed(frame)


def test_missing_column_is_reported_by_spark(spark: "SparkSession") -> None:
    with pytest.raises(PySparkException, match="nothing"):
        unframed(log(spark, (0, 0, b"", b"")), "nothing").collect()
