"""Schemas by ids, from a folder or from texts."""

import pickle
from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.formats.schema_source import (
    AVRO,
    PROTOBUF_SET,
    SchemaText,
    SchemaTexts,
    UnknownSchemaError,
    given_schemas,
    schemas_in,
)


def test_folder_has_schemas_by_their_ids(tmp_path: Path) -> None:
    for number in (3, 20):
        (tmp_path / f"{number}.avsc").write_text(f'"{number}"')
    (tmp_path / "README.md").write_text("schemas")

    found = schemas_in(str(tmp_path), AVRO)

    assert found.all() == {3: SchemaText(AVRO, '"3"'), 20: SchemaText(AVRO, '"20"')}


def test_descriptor_in_a_folder_is_text_in_base64(tmp_path: Path) -> None:
    (tmp_path / "7.desc").write_bytes(b"\0\xff")

    assert schemas_in(str(tmp_path), PROTOBUF_SET).by_id(7) == SchemaText(PROTOBUF_SET, "AP8=")


@pytest.mark.parametrize(
    ("names", "error_text"),
    (((), "contains no schemas"), (("order.avsc",), r"the name of .*order\.avsc is not a number")),
)
def test_unusable_folder_is_rejected(
    tmp_path: Path, names: tuple[str, ...], error_text: str
) -> None:
    for name in names:
        (tmp_path / name).write_text("")

    with pytest.raises(SettingError, match=error_text):
        schemas_in(str(tmp_path), AVRO)


def test_missing_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"folder .* does not exist"):
        schemas_in(str(tmp_path / "gone"), AVRO)


def test_no_texts_are_rejected() -> None:
    with pytest.raises(SettingError, match="no schema is given"):
        given_schemas({}, AVRO)


def test_default_schema_has_the_highest_id() -> None:
    source = given_schemas({3: "a", 20: "b"}, AVRO)

    assert source.id_of(None) == 20
    assert source.id_of(3) == 3


@pytest.mark.parametrize("name", (4, "orders-value"))
def test_schema_that_is_not_given_cannot_be_chosen(name: int | str) -> None:
    with pytest.raises(SettingError, match=rf"schema {name} is not among \[3\]"):
        given_schemas({3: "a"}, AVRO).id_of(name)


def test_unknown_schema_is_an_error() -> None:
    source = SchemaTexts({})

    with pytest.raises(UnknownSchemaError, match="not among the given schemas"):
        source.by_id(3)
    with pytest.raises(UnknownSchemaError, match="version 1 of orders"):
        source.by_version("orders", 1)


def test_source_can_be_pickled() -> None:
    source = pickle.loads(pickle.dumps(given_schemas({3: "a"}, AVRO)))  # our own

    assert source.by_id(3).text == "a"
