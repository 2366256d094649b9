"""Decoding of Avro values with a schema id, and the errors of undecodable values."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest

pytest.importorskip("fastavro", reason="the extra spark is not installed")

from fastavro import parse_schema, schemaless_writer

from cordwood.spark.formats.avro_decoder import AvroDecoder
from cordwood.spark.formats.schema_source import AVRO, given_schemas
from cordwood.spark.formats.value_decoder import decoded_columns

pytestmark = pytest.mark.spark

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
    """Return a value in the Confluent wire format."""
    out = BytesIO()
    schemaless_writer(out, parse_schema(dict(schema)), record)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def decoder(*schemas: Mapping[str, Any]) -> AvroDecoder:
    """Return a decoder of schemas 1, 2 and so on; the last one is the reader schema."""
    texts = {number: json.dumps(schema) for number, schema in enumerate(schemas, 1)}
    return AvroDecoder(given_schemas(texts, AVRO), len(texts))


def test_value_is_decoded_by_its_schema_and_resolved_to_the_reader_schema() -> None:
    both = decoder(FIRST, SECOND)

    assert both.decode(framed(1, FIRST, {"id": 7})) == (1, {"id": 7, "by": None}, None)
    assert both.decode(framed(2, SECOND, ADA)) == (2, ADA, None)


def test_tombstone_has_neither_record_nor_error() -> None:
    assert decoder(FIRST).decode(None) == (None, None, None)


@pytest.mark.parametrize(
    ("value", "number", "error_text"),
    (
        (b"", None, "no schema id (begins with no byte)"),
        (b"\0\0\0\0", None, "no schema id (begins with 00000000)"),
        (b'{"id": 7}', None, "no schema id (begins with 7b22696422)"),
        (b"\0\0\0\0\x09\x0e", 9, "schema 9: not among the given schemas"),
        (b"\0\xff\xff\xff\xff\x0e", None, "schema 4294967295: not a positive integer of 32 bits"),
        (b"\0\0\0\0\x01", 1, "schema 1: EOFError: "),
        (b"\0\0\0\0\x02\x0e\x02", 2, "schema 2: EOFError: "),
        (b"\0\0\0\0\x02\x0e\x06", 2, "schema 2: IndexError: "),
        (b"\0\0\0\0\x01\x0e??", 1, "schema 1: 2 bytes after the record"),
    ),
)
def test_undecodable_value_has_an_error(value: bytes, number: int | None, error_text: str) -> None:
    found = decoder(FIRST, SECOND).decode(value)

    assert found.schema_id == number
    assert found.record is None
    assert found.error is not None
    assert found.error.startswith(error_text)


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

    columns = decoded_columns([value], of_record.record_type)
    assert columns[1].to_pylist() == [{**told, "tags": [("a", 1)]}]


def test_schema_that_no_column_can_have_is_named_in_the_row() -> None:
    of_order = AvroDecoder(given_schemas({1: json.dumps(FIRST), 2: "{"}, AVRO), 1)

    found = of_order.decode(b"\0\0\0\0\2?")

    assert found.schema_id == 2
    assert (found.error or "").startswith("schemas: schema 2: not a valid schema")


def test_values_of_a_plain_type_are_decoded() -> None:
    of_text = AvroDecoder(given_schemas({1: '"string"'}, AVRO), 1)

    assert of_text.decode(b"\0\0\0\0\1\4hi") == (1, "hi", None)
