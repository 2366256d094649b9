"""Protobuf files of tests, as descriptors.

message Order { int64 id = 1; repeated string tags = 2; Money net = 3; message Line {...} ... }
"""

from typing import Final

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet

from cordwood.spark.formats.schema_source import PROTOBUF_SET, SchemaTexts, given_schemas

#: The first version of a file: a message with one field, and another message.
FIRST: Final = """
name: "order.proto" package: "shop" syntax: "proto3"
message_type { name: "Order" field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL } }
message_type {
  name: "Other"
  nested_type { name: "Line" field { name: "at" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL } }
}
"""
_FIELDS: Final = (
    ("id", "TYPE_INT64", ""),
    ("big", "TYPE_FIXED64", ""),
    ("count", "TYPE_UINT32", ""),
    ("ratio", "TYPE_FLOAT", ""),
    ("is_paid", "TYPE_BOOL", ""),
    ("raw", "TYPE_BYTES", ""),
    ("kind", "TYPE_ENUM", ".shop.Kind"),
    ("at", "TYPE_MESSAGE", ".google.protobuf.Timestamp"),
    ("took", "TYPE_MESSAGE", ".google.protobuf.Duration"),
    ("note", "TYPE_MESSAGE", ".google.protobuf.StringValue"),
    ("more", "TYPE_MESSAGE", ".google.protobuf.Struct"),
    ("line", "TYPE_MESSAGE", ".shop.Line"),
)
_IMPORTS: Final = ("timestamp", "duration", "wrappers", "struct")


def file_of(text: str) -> FileDescriptorProto:
    """Return a file in Protobuf's text format."""
    return text_format.Parse(text, FileDescriptorProto())


def bytes_of(*files: FileDescriptorProto) -> bytes:
    """Return the set of descriptors that a compiler writes."""
    return bytes(FileDescriptorSet(file=files).SerializeToString())


def all_types() -> FileDescriptorProto:
    """Return a file whose first message has a field of each type, repeated ones and a union."""
    file = FileDescriptorProto(name="all.proto", package="shop", syntax="proto3")
    file.dependency.extend(f"google/protobuf/{name}.proto" for name in _IMPORTS)
    order = file.message_type.add(name="Order")
    for number, (name, kind, of) in enumerate(_FIELDS, 1):
        more = {"type_name": of} if of else {}
        order.field.add(name=name, number=number, type=kind, label="LABEL_OPTIONAL", **more)
    order.field.add(name="tags", number=20, type="TYPE_STRING", label="LABEL_REPEATED")
    _add_lines(order)
    _add_map(order)
    _add_union(order)
    line = file.message_type.add(name="Line")
    line.field.add(name="price", number=1, type="TYPE_DOUBLE", label="LABEL_OPTIONAL")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="SMALL", number=0)
    kind.value.add(name="LARGE", number=1)
    return file


def _add_lines(order: DescriptorProto) -> None:
    order.field.add(
        name="lines", number=21, type="TYPE_MESSAGE", type_name=".shop.Line", label="LABEL_REPEATED"
    )


def _add_map(order: DescriptorProto) -> None:
    entry = order.nested_type.add(name="PricesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type="TYPE_STRING", label="LABEL_OPTIONAL")
    entry.field.add(
        name="value", number=2, type="TYPE_MESSAGE", type_name=".shop.Line", label="LABEL_OPTIONAL"
    )
    order.field.add(
        name="prices", number=22, type="TYPE_MESSAGE", type_name=".shop.Order.PricesEntry",
        label="LABEL_REPEATED",
    )  # fmt: skip


def _add_union(order: DescriptorProto) -> None:
    order.oneof_decl.add(name="payer")
    for number, name in enumerate(("card", "account"), 23):
        order.field.add(
            name=name, number=number, type="TYPE_STRING", label="LABEL_OPTIONAL", oneof_index=0
        )


def given(**files: FileDescriptorProto) -> SchemaTexts:
    """Return files by their ids: `_1=...`."""
    sets = {int(name.strip("_")): bytes_of(file) for name, file in files.items()}
    return given_schemas(sets, PROTOBUF_SET)
