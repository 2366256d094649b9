"""Schemas by their ids, and what their records are in Arrow."""

import json
from pathlib import Path

import pytest

pytest.importorskip("fastavro", reason="the extra spark is not installed")

import pyarrow as pa

from cordwood.core.errors import SettingError
from cordwood.spark.avro_schemas import Schema, arrow_type, schemas_in

ORDER = {"type": "record", "name": "shop.Order", "fields": [{"name": "id", "type": "long"}]}


def of_field(schema: Schema) -> pa.DataType:
    """Return the type of a field of a record, as it comes out of a text."""
    record = {**ORDER, "fields": [{"name": "a", "type": schema}]}
    return arrow_type(schemas_in({1: json.dumps(record)})[1], of="it").field("a").type


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
def test_types_are_those_of_the_values(schema: Schema, found: pa.DataType) -> None:
    assert of_field(schema) == found


def test_type_may_come_again_by_its_name() -> None:
    four = {"type": "fixed", "name": "Four", "size": 4}
    record = {**ORDER, "fields": [{"name": "a", "type": four}, {"name": "b", "type": "Four"}]}

    (schema,) = schemas_in({3: json.dumps(record)}).values()

    assert arrow_type(schema, of="it") == pa.struct([("a", pa.binary()), ("b", pa.binary())])


@pytest.mark.parametrize(
    ("schema", "said"),
    (
        (["int", "string"], "schema 1: a may be int32 or string"),
        (["null"], "schema 1: a may be nothing but null"),
        (["null", "shop.Order"], r"schema 1: a is a shop\.Order within a shop\.Order"),
    ),
)
def test_what_no_column_can_be_is_refused(schema: Schema, said: str) -> None:
    with pytest.raises(SettingError, match=said) as refused:
        of_field(schema)

    assert "map_arrow" in str(refused.value)


def test_folder_has_schemas_by_their_ids(tmp_path: Path) -> None:
    for number in (3, 20):
        (tmp_path / f"{number}.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "README.md").write_text("schemas")

    assert sorted(schemas_in(str(tmp_path))) == [3, 20]


@pytest.mark.parametrize(
    ("files", "said"),
    (
        ({}, "has no schemas"),
        ({"order.avsc": json.dumps(ORDER)}, "order.avsc is not named by a number"),
        ({"3.avsc": "{"}, "schema 3 is none"),
        ({"3.avsc": '"Unheard"'}, "schema 3 is none"),
        ({"3.avsc": '{"type": "unheard"}'}, "schema 3 is none"),
    ),
)
def test_folder_that_cannot_be_used_is_refused(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    with pytest.raises(SettingError, match=said):
        schemas_in(str(tmp_path))


def test_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="there is no folder"):
        schemas_in(str(tmp_path / "gone"))
