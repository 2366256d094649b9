"""Avro schemas, what they refer to, and their Arrow types."""

import json

import pytest

pytest.importorskip("fastavro", reason="the extra spark is not installed")

import pyarrow as pa

from cordwood.core.errors import SettingError
from cordwood.spark.formats.avro_schemas import Schema, arrow_type, load_avro, parse_avro
from cordwood.spark.formats.schema_source import (
    AVRO,
    JSON,
    SchemaReference,
    SchemaText,
    SchemaTexts,
    given_schemas,
)
from tests.unit.spark.formats.subjects import Subjects

pytestmark = pytest.mark.spark

ORDER = {"type": "record", "name": "shop.Order", "fields": [{"name": "id", "type": "long"}]}


def parsed(schema: Schema) -> Schema:
    """Return a schema that is given as text."""
    return parse_avro(SchemaText(AVRO, json.dumps(schema)), SchemaTexts({}), of="schema 1")


def of_field(schema: Schema) -> pa.DataType:
    """Return the Arrow type of a field with this schema, through the JSON text."""
    record = {**ORDER, "fields": [{"name": "a", "type": schema}]}
    return arrow_type(parsed(record), of="schema 1").field("a").type


def logical(of: str, name: str, **more: int | str) -> Schema:
    return {"type": of, "logicalType": name, **more}


@pytest.mark.parametrize(
    ("schema", "found"),
    (
        ("boolean", pa.bool_()),
        ("int", pa.int32()),
        ("bytes", pa.binary()),
        (["null", "string"], pa.string()),
        (["int", "long"], pa.int64()),
        (["null", "float", "double"], pa.float64()),
        ({"type": "array", "items": "int"}, pa.list_(pa.int32())),
        ({"type": "map", "values": ["null", "long"]}, pa.map_(pa.string(), pa.int64())),
        ({"type": "enum", "name": "Kind", "symbols": ["A"]}, pa.string()),
        ({"type": "fixed", "name": "Four", "size": 4}, pa.binary()),
        (logical("int", "date"), pa.date32()),
        (logical("long", "timestamp-millis"), pa.timestamp("us", "UTC")),
        (logical("long", "local-timestamp-micros"), pa.timestamp("us")),
        (logical("bytes", "decimal", precision=9, scale=2), pa.decimal128(9, 2)),
        (logical("string", "uuid"), pa.string()),
        (logical("int", "time-millis"), pa.int32()),
        (ORDER | {"name": "Inner"}, pa.struct([("id", pa.int64())])),
    ),
)
def test_arrow_types_match_the_schema(schema: Schema, found: pa.DataType) -> None:
    assert of_field(schema) == found


def test_type_can_be_referenced_by_its_name() -> None:
    four = {"type": "fixed", "name": "Four", "size": 4}
    record = {**ORDER, "fields": [{"name": "a", "type": four}, {"name": "b", "type": "Four"}]}

    assert arrow_type(parsed(record), of="it") == pa.struct(
        [("a", pa.binary()), ("b", pa.binary())]
    )


def test_fixed_with_a_logical_type_can_be_referenced_by_its_name() -> None:
    money = {
        "type": "fixed",
        "name": "Money",
        "size": 8,
        "logicalType": "decimal",
        "precision": 9,
        "scale": 2,
    }
    record = {**ORDER, "fields": [{"name": "a", "type": money}, {"name": "b", "type": "Money"}]}

    found = arrow_type(parsed(record), of="it")

    assert found == pa.struct([("a", pa.decimal128(9, 2)), ("b", pa.decimal128(9, 2))])


@pytest.mark.parametrize(
    ("schema", "error_text"),
    (
        (["int", "string"], "schema 1: a is a union of int32 or string"),
        (["null"], "schema 1: a is a union of null only"),
        (["null", "shop.Order"], r"schema 1: a is recursive \(shop\.Order within shop\.Order\)"),
    ),
)
def test_unsupported_type_is_rejected(schema: Schema, error_text: str) -> None:
    with pytest.raises(SettingError, match=error_text) as refused:
        of_field(schema)

    assert "map_arrow" in str(refused.value)


@pytest.mark.parametrize("text", ("{", '"Unheard"', '{"type": "unheard"}'))
def test_invalid_schema_is_rejected(text: str) -> None:
    with pytest.raises(SettingError, match="schema 3: not a valid schema"):
        load_avro(given_schemas({3: text}, AVRO))


def test_schema_of_another_kind_is_rejected() -> None:
    with pytest.raises(SettingError, match="schema 3 is a schema in JSON, not in Avro"):
        load_avro(given_schemas({3: "{}"}, JSON))


def test_schema_contains_the_types_that_it_refers_to() -> None:
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "in", "type": "Currency"}]}
    currency = {"type": "enum", "name": "shop.Currency", "symbols": ["EUR"]}
    order = {**ORDER, "fields": [{"name": name, "type": "Money"} for name in ("net", "gross")]}
    of_currency = (SchemaReference("shop.Currency", "currency", 1),)
    of_money = (SchemaReference("shop.Money", "money", 2),)
    source = Subjects(
        {
            ("currency", 1): SchemaText(AVRO, json.dumps(currency)),
            ("money", 2): SchemaText(AVRO, json.dumps(money), of_currency),
        }
    )

    found = parse_avro(SchemaText(AVRO, json.dumps(order), of_money), source, of="schema 1")

    a_money = pa.struct([("in", pa.string())])
    assert arrow_type(found, of="it") == pa.struct([("net", a_money), ("gross", a_money)])


def test_absent_reference_is_rejected() -> None:
    schema = SchemaText(AVRO, '"shop.Money"', (SchemaReference("shop.Money", "money", 2),))

    with pytest.raises(SettingError, match=r"schema 1 refers to shop\.Money"):
        parse_avro(schema, Subjects({}), of="schema 1")
