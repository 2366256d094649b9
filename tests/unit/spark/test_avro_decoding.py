"""Values with the id of their schema: decoded, or kept with what is wrong with them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest

pytest.importorskip("fastavro", reason="the extra spark is not installed")

import pyarrow as pa
from fastavro import parse_schema, schemaless_writer

from cordwood.spark.avro_decoding import Decoded, Decoder, decode_batches
from cordwood.spark.avro_schemas import schemas_in

FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
SECOND = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "by", "type": ["null", "string"], "default": None},
    ],
}
ADA = {"id": 7, "by": "ada"}


def framed(number: int, schema: Mapping[str, Any], record: object) -> bytes:
    """Return a value as a registry's client writes it."""
    out = BytesIO()
    schemaless_writer(out, parse_schema(dict(schema)), record)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def decoder(*schemas: Mapping[str, Any]) -> Decoder:
    """Return a decoder of schemas 1, 2 and so on; what comes out is of the last one."""
    texts = {number: json.dumps(schema) for number, schema in enumerate(schemas, 1)}
    return Decoder(schemas_in(texts), len(texts))


def test_value_is_read_by_its_schema_and_is_what_the_reader_says() -> None:
    both = decoder(FIRST, SECOND)

    assert both.decode(framed(1, FIRST, {"id": 7})) == (1, {"id": 7, "by": None}, None)
    assert both.decode(framed(2, SECOND, ADA)) == (2, ADA, None)


def test_tombstone_is_nothing() -> None:
    assert decoder(FIRST).decode(None) == (None, None, None)


@pytest.mark.parametrize(
    ("value", "number", "said"),
    (
        (b"", None, "begins with nothing"),
        (b"\0\0\0\0", None, "begins with 00000000"),
        (b'{"id": 7}', None, "begins with 7b22696422"),
        (b"\0\0\0\0\x09\x0e", 9, "schema 9 is not among those that are known"),
        (b"\0\0\0\0\x01", 1, "schema 1: EOFError: "),
        (b"\0\0\0\0\x02\x0e\x02", 2, "schema 2: EOFError: "),
        (b"\0\0\0\0\x02\x0e\x06", 2, "schema 2: IndexError: "),
        (b"\0\0\0\0\x01\x0e??", 1, "schema 1: 2 bytes are left behind its end"),
    ),
)
def test_what_cannot_be_decoded_says_why(value: bytes, number: int | None, said: str) -> None:
    found = decoder(FIRST, SECOND).decode(value)

    assert (found.schema_id, found.record) == (number, None)
    assert found.error is not None
    assert found.error.startswith(said)


def test_schema_that_the_reader_cannot_follow_is_named_in_the_row() -> None:
    other = {**FIRST, "fields": [{"name": "total", "type": "string"}]}

    found = decoder(other, FIRST).decode(framed(1, other, {"total": "7"}))

    assert found.error is not None
    assert found.error.startswith("schema 1: ")


def test_columns_have_logical_types() -> None:
    fields = [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9}},
        {"name": "who", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
    ]
    record = {"at": datetime(2026, 11, 22, tzinfo=UTC), "sum": Decimal(7), "tags": {"a": 1}}
    of_record = decoder(FIRST | {"fields": fields})
    told = {**record, "who": "2be98a43-f2d7-485d-91f8-15a4650e46d2"}

    value = of_record.decode(framed(1, FIRST | {"fields": fields}, told))

    assert of_record.columns([value])[1].to_pylist() == [{**told, "tags": [("a", 1)]}]


def test_row_whose_record_fits_no_column_is_told_apart() -> None:
    of_order = decoder(FIRST)
    rows = [Decoded(1, {"id": 1}, None), Decoded(1, {"id": 1 << 40}, None)]

    ids, records, errors = of_order.columns(rows)

    assert ids.to_pylist() == [1, 1]
    assert records.to_pylist() == [{"id": 1}, None]
    assert errors[0].as_py() is None
    assert errors[1].as_py().startswith("schema 1: ")


def test_batches_keep_their_columns() -> None:
    schemas = schemas_in({1: json.dumps(FIRST)})
    batch = pa.record_batch({"offset": [3, 4], "value": [framed(1, FIRST, {"id": 7}), b"?"]})

    (found,) = decode_batches("value", schemas, 1, iter([batch]))

    assert found.schema.names == ["offset", "value", "schema_id", "record", "error"]
    assert found.column("record").to_pylist() == [{"id": 7}, None]
    assert found.column("value").to_pylist() == batch.column("value").to_pylist()
