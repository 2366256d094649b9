"""JSON Schemas, and the Spark types of their values."""

import json

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import SettingError
from cordwood.spark.formats.json_schemas import parse_json_schema
from cordwood.spark.formats.schema_source import AVRO, JSON, SchemaText

pytestmark = pytest.mark.spark


def type_of(schema: object) -> str:
    """Return the Spark type of a schema, in Spark's words."""
    return parse_json_schema(SchemaText(JSON, json.dumps(schema)), of="schema 1").simpleString()


@pytest.mark.parametrize(
    ("schema", "found"),
    (
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "bigint"),
        ({"type": "number"}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "email"}, "string"),
        ({"type": ["null", "integer"]}, "bigint"),
        ({"oneOf": [{"type": "null"}, {"type": "number"}]}, "double"),
        ({"type": "array", "items": {"type": "integer"}}, "array<bigint>"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "map<string,string>"),
        (
            {"properties": {"id": {"type": "integer"}, "by": {"type": "string"}}},
            "struct<id:bigint,by:string>",
        ),
        (
            {
                "properties": {"to": {"$ref": "#/definitions/place"}},
                "definitions": {
                    "place": {"type": "object", "properties": {"x": {"type": "number"}}}
                },
            },
            "struct<to:struct<x:double>>",
        ),
    ),
)
def test_types_match_the_schema(schema: object, found: str) -> None:
    assert type_of(schema) == found


@pytest.mark.parametrize(
    ("schema", "error_text"),
    (
        ({}, "the value has the type None"),
        (True, "the value allows any value"),
        ({"properties": {"a": {"type": "null"}}}, "a has the type null"),
        ({"properties": {"a": {"type": ["integer", "string"]}}}, "a is a union of 2 types"),
        ({"properties": {"a": {"$ref": "#"}}}, r"a is recursive \(#\)"),
        ({"$ref": "other.json"}, r"the value refers to other\.json, which is not in the schema"),
        ({"type": "object"}, r"\* allows any value"),
    ),
)
def test_schema_that_no_column_can_have_is_rejected(schema: object, error_text: str) -> None:
    with pytest.raises(SettingError, match=error_text):
        type_of(schema)


def test_invalid_schema_is_rejected() -> None:
    with pytest.raises(SettingError, match="schema 1: not JSON"):
        parse_json_schema(SchemaText(JSON, "{"), of="schema 1")


def test_schema_of_another_kind_is_rejected() -> None:
    with pytest.raises(SettingError, match="schema 1 is a schema in AVRO, not a JSON Schema"):
        parse_json_schema(SchemaText(AVRO, "{}"), of="schema 1")
