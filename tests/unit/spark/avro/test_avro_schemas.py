"""Avro schemas by id, and their Arrow types."""

import json
from pathlib import Path

import pytest

pytest.importorskip("fastavro", reason="the extra spark is not installed")

import pyarrow as pa

from cordwood.core.errors import SettingError
from cordwood.spark.avro.avro_schemas import Schema, arrow_type, load_schemas

pytestmark = pytest.mark.spark

ORDER = {"type": "record", "name": "shop.Order", "fields": [{"name": "id", "type": "long"}]}


def of_field(schema: Schema) -> pa.DataType:
    """Return the Arrow type of a field with this schema, through the JSON text."""
    record = {**ORDER, "fields": [{"name": "a", "type": schema}]}
    return arrow_type(load_schemas({1: json.dumps(record)})[1], of="it").field("a").type


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

    (schema,) = load_schemas({3: json.dumps(record)}).values()

    assert arrow_type(schema, of="it") == pa.struct([("a", pa.binary()), ("b", pa.binary())])


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


def test_folder_has_schemas_by_their_ids(tmp_path: Path) -> None:
    for number in (3, 20):
        (tmp_path / f"{number}.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "README.md").write_text("schemas")

    assert sorted(load_schemas(str(tmp_path))) == [3, 20]


@pytest.mark.parametrize(
    ("files", "error_text"),
    (
        ({}, "contains no schemas"),
        ({"order.avsc": json.dumps(ORDER)}, r"the name of .*order\.avsc is not a number"),
        ({"3.avsc": "{"}, "schema 3: not a valid schema"),
        ({"3.avsc": '"Unheard"'}, "schema 3: not a valid schema"),
        ({"3.avsc": '{"type": "unheard"}'}, "schema 3: not a valid schema"),
    ),
)
def test_unusable_folder_is_rejected(
    tmp_path: Path, files: dict[str, str], error_text: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    with pytest.raises(SettingError, match=error_text):
        load_schemas(str(tmp_path))


def test_missing_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"folder .* does not exist"):
        load_schemas(str(tmp_path / "gone"))
