"""Message types of Protobuf schemas: descriptors, sources, imports."""

import base64

import pytest

pytest.importorskip("google.protobuf", reason="the extra spark is not installed")

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from cordwood.core.errors import SettingError
from cordwood.spark.formats.protobuf_files import indexes_of, message_file
from cordwood.spark.formats.schema_source import (
    AVRO,
    PROTOBUF,
    PROTOBUF_SET,
    SchemaReference,
    SchemaText,
    SchemaTexts,
)
from tests.unit.spark.formats.protobuf_samples import FIRST, all_types, bytes_of, file_of
from tests.unit.spark.formats.subjects import Subjects

pytestmark = pytest.mark.spark

NONE = SchemaTexts({})
LINE = SchemaReference("line.proto", "line", 1)


def described(file: FileDescriptorProto, *references: SchemaReference) -> SchemaText:
    """Return a file as a registry answers it, if it is asked for descriptors."""
    text = base64.b64encode(file.SerializeToString()).decode()
    return SchemaText(PROTOBUF, text, references)


def set_of(*files: FileDescriptorProto) -> SchemaText:
    """Return the set that a compiler writes."""
    return SchemaText(PROTOBUF_SET, base64.b64encode(bytes_of(*files)).decode())


@pytest.mark.parametrize("make", (described, set_of))
def test_first_message_type_is_the_default(make: object) -> None:
    assert callable(make)
    file = message_file(make(file_of(FIRST)), NONE, of="schema 1")

    assert file.message_named(None).full_name == "shop.Order"
    assert file.message_named("Line").full_name == "shop.Other.Line"
    assert file.message_named("shop.Other").full_name == "shop.Other"


def test_message_types_are_found_by_their_indexes() -> None:
    file = message_file(described(file_of(FIRST)), NONE, of="schema 1")

    for name in ("shop.Order", "shop.Other", "shop.Other.Line"):
        message = file.message_named(name)
        assert file.message_at(indexes_of(message)) is message
    assert file.message_at([2]) is None
    assert file.message_at([1, 1]) is None


def test_absent_message_type_is_rejected_with_the_names_of_the_others() -> None:
    file = message_file(described(file_of(FIRST)), NONE, of="schema 1")

    with pytest.raises(SettingError, match="schema 1 has no message type Gone") as refused:
        file.message_named("Gone")

    assert "shop.Order, shop.Other, shop.Other.Line" in str(refused.value)


def test_files_of_google_need_not_be_given() -> None:
    assert message_file(set_of(all_types()), NONE, of="it").message_named("Order").fields


def test_imported_file_comes_from_its_subject() -> None:
    line = file_of('name: "x.proto" package: "shop" message_type { name: "Line" }')
    order = file_of("""
        name: "order.proto" package: "shop" dependency: "line.proto"
        message_type { name: "Order" field {
            name: "line" number: 1 type: TYPE_MESSAGE type_name: ".shop.Line" label: LABEL_OPTIONAL
        } }""")
    source = Subjects({("line", 1): described(line)})

    found = message_file(described(order, LINE), source, of="schema 1")

    assert found.message_named(None).fields[0].message_type.full_name == "shop.Line"


def test_absent_import_is_rejected() -> None:
    with pytest.raises(SettingError, match=r"schema 1 imports line\.proto: .*no version 1 of line"):
        message_file(described(file_of(FIRST), LINE), Subjects({}), of="schema 1")


def test_source_is_compiled() -> None:
    pytest.importorskip("grpc_tools", reason="the compiler is not installed")
    line = 'syntax = "proto3"; package shop; message Line { double price = 1; }'
    order = 'syntax = "proto3"; import "line.proto"; message Order { shop.Line line = 1; }'
    source = Subjects({("line", 1): SchemaText(PROTOBUF, line)})

    found = message_file(SchemaText(PROTOBUF, order, (LINE,)), source, of="schema 1")

    assert found.message_named(None).fields[0].message_type.full_name == "shop.Line"


@pytest.mark.parametrize(
    ("schema", "error_text"),
    (
        (SchemaText(AVRO, "{}"), "schema 1 is a schema in AVRO, not in Protobuf"),
        (SchemaText(PROTOBUF_SET, "AP8="), "schema 1: not a set of descriptors"),
        (SchemaText(PROTOBUF_SET, ""), "schema 1: a set without a file"),
        (described(FileDescriptorProto(dependency=["gone.proto"])), "schema 1: not a valid schema"),
    ),
)
def test_invalid_schema_is_rejected(schema: SchemaText, error_text: str) -> None:
    with pytest.raises(SettingError, match=error_text):
        message_file(schema, NONE, of="schema 1")
