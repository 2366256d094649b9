"""Messages of Protobuf as records, in both directions."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pytest

pytest.importorskip("google.protobuf", reason="the extra spark is not installed")

import pyarrow as pa
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.spark.formats.protobuf_files import message_file
from cordwood.spark.formats.protobuf_records import MessageShape
from tests.unit.spark.formats.protobuf_samples import all_types, file_of, given

pytestmark = pytest.mark.spark

FULL: Final[dict[str, Any]] = {
    "id": -(1 << 40),
    "big": Decimal((1 << 64) - 1),
    "count": (1 << 32) - 1,
    "ratio": 0.5,
    "is_paid": True,
    "raw": b"\0\xff",
    "kind": "LARGE",
    "at": datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    "took": timedelta(seconds=-1, microseconds=1),
    "note": "",
    "more": '{"a": 1.0}',
    "line": {"price": 2.5},
    "tags": ["a", ""],
    "lines": [{"price": 1.0}, {"price": 0.0}],
    "prices": {"net": {"price": 3.0}},
    "card": None,
    "account": "DE",
}


def shape_of(file: FileDescriptorProto) -> tuple[MessageShape, Any]:
    """Return the shape of a file's first message, and the class of its messages."""
    source = given(_1=file)
    descriptor = message_file(source.by_id(1), source, of="schema 1").message_named(None)
    return MessageShape(descriptor, of="schema 1"), GetMessageClass(descriptor)


def test_record_is_read_as_it_was_written() -> None:
    shape, make = shape_of(all_types())
    message = make()

    shape.write(FULL, message)
    record = shape.read(make.FromString(message.SerializeToString()))

    assert pa.array([record], shape.arrow).to_pylist(maps_as_pydicts="strict") == [FULL]


def test_message_without_values_has_defaults_and_nulls() -> None:
    shape, make = shape_of(all_types())

    found = shape.read(make())

    nulls = {name for name, value in found.items() if value is None}
    assert nulls == {"at", "took", "note", "more", "line", "card", "account"}
    assert (found["id"], found["kind"], found["tags"]) == (0, "SMALL", [])


def test_number_that_an_enum_lacks_is_its_text() -> None:
    shape, make = shape_of(all_types())
    message = make()

    assert shape.read(make(kind=7))["kind"] == "7"
    shape.write({"kind": "7"}, message)
    assert message.kind == 7


def test_number_of_an_enum_with_two_names_is_read_as_the_first() -> None:
    file = all_types()
    file.enum_type[0].options.allow_alias = True
    file.enum_type[0].value.add(name="BIG", number=1)
    shape, make = shape_of(file)
    message = make()

    shape.write({"kind": "BIG"}, message)

    assert shape.read(message)["kind"] == "LARGE"


def test_keys_of_maps_have_their_type() -> None:
    file = all_types()
    file.message_type[0].nested_type[0].field[0].type = 4  # uint64
    shape, make = shape_of(file)
    message = make()

    shape.write({"prices": {Decimal(5): {"price": 1.0}}}, message)

    assert shape.read(message)["prices"] == [(Decimal(5), {"price": 1.0})]


@pytest.mark.parametrize(
    ("record", "error_text"),
    (
        ({"gone": 1}, r"gone is not a field of shop\.Order"),
        ({"kind": "HUGE"}, r"'HUGE' is not in shop\.Kind"),
        ({"card": "1", "account": "2"}, "card and account are both set, of oneof payer"),
    ),
)
def test_record_that_does_not_fit_is_rejected(record: dict[str, Any], error_text: str) -> None:
    shape, make = shape_of(all_types())

    with pytest.raises(InvalidRecordError, match=error_text):
        shape.write(record, make())


def test_recursive_message_is_rejected() -> None:
    file = file_of("""
        name: "tree.proto" message_type { name: "Tree" field {
            name: "left" number: 1 type: TYPE_MESSAGE type_name: ".Tree" label: LABEL_OPTIONAL
        } }""")

    with pytest.raises(SettingError, match="schema 1: Tree is recursive"):
        shape_of(file)
