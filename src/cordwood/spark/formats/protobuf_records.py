"""Messages of Protobuf as records: Arrow types, and values in both directions.

    int32, sint32, sfixed32     int             enum                    string, the name
    uint32, fixed32             bigint          repeated, map           array, map
    int64, sint64, sfixed64     bigint          message                 struct
    uint64, fixed64             decimal(20)     google.protobuf.Timestamp, Duration
    float, double, bool         the same                                timestamp, interval
    string, bytes               the same        google.protobuf.…Value  the value, nullable

A field without a value is null if its presence is known, otherwise the default of its type.
`google.protobuf.Struct`, `Value` and `ListValue` are strings in JSON.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.spark.formats.schema_source import invalid_schemas

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message

#: A value of a field or of a record.
Value: TypeAlias = Any
#: A message, whose fields are its attributes.
AnyMessage: TypeAlias = Any
Convert: TypeAlias = Callable[[Value], Value]
#: A function that sets the fields of a message.
SetMessage: TypeAlias = Callable[[AnyMessage], object]

_DIGITS: Final = 20
_MICROSECONDS: Final = 1_000_000
_NANOSECONDS: Final = 1_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PREFIX: Final = "google.protobuf."
#: Messages with the single field `value`, as the type of which they are shown.
_WRAPPERS: Final = frozenset(
    f"{_PREFIX}{name}Value"
    for name in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
)
_JSON: Final = frozenset(f"{_PREFIX}{name}" for name in ("Struct", "Value", "ListValue"))
_TIMESTAMP: Final = f"{_PREFIX}Timestamp"
_DURATION: Final = f"{_PREFIX}Duration"


class FieldShape(NamedTuple):
    """The Arrow type of a single value of a field, and its conversions."""

    arrow: pa.DataType
    read: Convert
    write: Convert


def _same(value: Value) -> Value:
    return value


_SCALARS: Final[Mapping[str, FieldShape]] = {
    "int32": FieldShape(pa.int32(), _same, _same),
    "uint32": FieldShape(pa.int64(), _same, _same),
    "int64": FieldShape(pa.int64(), _same, _same),
    "uint64": FieldShape(pa.decimal128(_DIGITS, 0), Decimal, int),
    "float": FieldShape(pa.float32(), _same, _same),
    "double": FieldShape(pa.float64(), _same, _same),
    "bool": FieldShape(pa.bool_(), _same, _same),
    "string": FieldShape(pa.string(), _same, _same),
    "bytes": FieldShape(pa.binary(), _same, _same),
}
#: Names of scalar types by their numbers in descriptors.
_NAMES: Final = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "uint64", 7: "uint32",
    8: "bool", 9: "string", 12: "bytes", 13: "uint32", 15: "int32", 16: "int64", 17: "int32",
    18: "int64",
}  # fmt: skip
_ENUM: Final = 14


class MessageShape:
    """The record of a message type; raise SettingError for one that no column can have."""

    def __init__(self, message: "Descriptor", *, of: str, within: tuple[str, ...] = ()) -> None:
        if message.full_name in within:
            raise _unsupported(of, message.full_name, "is recursive")
        self._of = of
        self._within = (*within, message.full_name)
        self._fields = [(field, self._shape_of(field)) for field in message.fields]
        self.arrow = pa.struct(
            pa.field(field.name, _column_type(field, shape)) for field, shape in self._fields
        )
        self._by_name = {field.name: (field, shape) for field, shape in self._fields}

    def read(self, message: "Message") -> dict[str, Any]:
        """Return the record of a message."""
        return {field.name: _read(message, field, shape) for field, shape in self._fields}

    def write(self, record: Mapping[str, Any], message: "Message") -> None:
        """Set the fields of a message; raise InvalidRecordError for a record that does not fit."""
        for name, value in record.items():
            if name not in self._by_name:
                raise InvalidRecordError(f"{name} is not a field of {message.DESCRIPTOR.full_name}")
            if value is None:
                continue
            field, shape = self._by_name[name]
            union = field.containing_oneof
            if union is not None and (other := message.WhichOneof(union.name)) is not None:
                raise InvalidRecordError(f"{other} and {name} are both set, of oneof {union.name}")
            _write(message, field, shape, value)

    def _shape_of(self, field: "FieldDescriptor") -> FieldShape:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return self._shape_of(field.message_type.fields_by_name["value"])
        if field.type == _ENUM:
            return _enum_shape(field)
        if field.message_type is None:
            return _SCALARS[_NAMES[field.type]]
        return self._message_shape(field.message_type)

    def _message_shape(self, message: "Descriptor") -> FieldShape:
        name = message.full_name
        if name == _TIMESTAMP:
            return FieldShape(pa.timestamp("us", "UTC"), _microseconds, _timestamp_writer)
        if name == _DURATION:
            return FieldShape(pa.duration("us"), _microseconds, _duration_writer)
        if name in _JSON:
            return FieldShape(pa.string(), _to_json, _json_writer)
        if name in _WRAPPERS:
            inner = _SCALARS[_NAMES[message.fields_by_name["value"].type]]
            return FieldShape(
                inner.arrow, lambda each: inner.read(each.value), _wrapper_writer(inner.write)
            )
        nested = MessageShape(message, of=self._of, within=self._within)
        return FieldShape(nested.arrow, nested.read, _nested_writer(nested))


def _column_type(field: "FieldDescriptor", shape: FieldShape) -> pa.DataType:
    if _is_map(field):
        key = _SCALARS[_NAMES[field.message_type.fields_by_name["key"].type]]
        return pa.map_(key.arrow, shape.arrow)
    return pa.list_(shape.arrow) if _is_repeated(field) else shape.arrow


def _is_repeated(field: "FieldDescriptor") -> bool:
    # Newer versions of the library deprecate `label`, and older ones lack `is_repeated`.
    is_repeated: bool | None = getattr(field, "is_repeated", None)
    return field.label == field.LABEL_REPEATED if is_repeated is None else is_repeated


def _is_map(field: "FieldDescriptor") -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _read(message: "Message", field: "FieldDescriptor", shape: FieldShape) -> Value:
    if _is_map(field):
        key = _SCALARS[_NAMES[field.message_type.fields_by_name["key"].type]]
        return [
            (key.read(name), shape.read(value))
            for name, value in getattr(message, field.name).items()
        ]
    if _is_repeated(field):
        return [shape.read(each) for each in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return shape.read(getattr(message, field.name))


def _write(message: "Message", field: "FieldDescriptor", shape: FieldShape, value: Value) -> None:
    place = getattr(message, field.name)
    is_message = field.message_type is not None
    if _is_map(field):
        entry = field.message_type.fields_by_name
        key = _SCALARS[_NAMES[entry["key"].type]]
        for name, each in value.items():
            if entry["value"].message_type is not None:
                shape.write(each)(place[key.write(name)])
            else:
                place[key.write(name)] = shape.write(each)
    elif _is_repeated(field) and is_message:
        for each in value:
            shape.write(each)(place.add())
    elif _is_repeated(field):
        place.extend(map(shape.write, value))
    elif is_message:
        place.SetInParent()
        shape.write(value)(place)
    else:
        setattr(message, field.name, shape.write(value))


def _enum_shape(field: "FieldDescriptor") -> FieldShape:
    values = field.enum_type.values
    numbers: dict[str, int] = {each.name: each.number for each in values}
    # The first name of a number, as in Protobuf's JSON.
    names = {each.number: each.name for each in reversed(values)}

    def write(name: str) -> int:
        if name not in numbers and name.lstrip("-").isdecimal():
            return int(name)
        if name not in numbers:
            raise InvalidRecordError(f"{name!r} is not in {field.enum_type.full_name}")
        return numbers[name]

    return FieldShape(pa.string(), lambda number: names.get(number, str(number)), write)


# -- well-known types: reading returns a value, writing a function that sets a message


def _microseconds(message: AnyMessage) -> int:
    return int(message.seconds * _MICROSECONDS + message.nanos // _NANOSECONDS)


def _timestamp_writer(time: datetime) -> SetMessage:
    return _microseconds_writer((time - _EPOCH) // timedelta(microseconds=1))


def _duration_writer(time: timedelta) -> SetMessage:
    return lambda message: message.FromMicroseconds(time // timedelta(microseconds=1))


def _microseconds_writer(count: int) -> SetMessage:
    return lambda message: message.FromMicroseconds(count)


def _to_json(message: "Message") -> str:
    from google.protobuf.json_format import MessageToJson  # noqa: PLC0415  # an extra

    return str(MessageToJson(message, indent=None))


def _json_writer(text: str) -> SetMessage:
    from google.protobuf.json_format import Parse  # noqa: PLC0415  # an extra

    return lambda message: Parse(text, message)


def _wrapper_writer(write: Convert) -> Convert:
    def set_value(value: Value) -> SetMessage:
        def set_message(message: AnyMessage) -> None:
            message.value = write(value)

        return set_message

    return set_value


def _nested_writer(nested: MessageShape) -> Convert:
    return lambda record: lambda message: nested.write(record, message)


def _unsupported(of: str, name: str, problem: str) -> SettingError:
    return invalid_schemas(
        f"{of}: {name} {problem}, which no column can be",
        "decode it with your own function in `scan(...).map_arrow`",
    )
