"""Wire types as annotations: a Python type for type checkers, and the encoding.

    Int8 .. Int64, UInt16, UInt32, Float64, Bool   big-endian; any byte but 0 is true
    Uuid      16 bytes
    String    int16 length, UTF-8; compact: length + 1 as an unsigned varint
    Bytes     int32 length; compact: length + 1 as an unsigned varint; read as a view of the frame
    Records   as Bytes on the wire; never copied in either direction, and may be a range of a file

A list is an int32 count (compact: count + 1), then its elements. Null is length -1, or compact
length 0. The version of the message, not the type, selects the compact or the non-compact form.
"""

from typing import Annotated, Final, NamedTuple, TypeAlias

from cordwood.core import uuids
from cordwood.core.binary import Buffer
from cordwood.core.ports import Slice


class FixedSizeType(NamedTuple):
    """Type of constant size; `format` is its `struct` format."""

    name: str
    format: str
    size: int
    default: int | float | bool | bytes


class LengthPrefixedType(NamedTuple):
    """Type with a length prefix; `prefix` is the format of a non-compact length."""

    name: str
    prefix: str
    default: str | bytes | None


STRING: Final = LengthPrefixedType("string", "h", "")
BYTES: Final = LengthPrefixedType("bytes", "i", b"")
RECORDS: Final = LengthPrefixedType("records", "i", None)
UUID: Final = FixedSizeType("uuid", "16s", 16, uuids.NO_UUID)

Int8: TypeAlias = Annotated[int, FixedSizeType("int8", "b", 1, 0)]
Int16: TypeAlias = Annotated[int, FixedSizeType("int16", "h", 2, 0)]
UInt16: TypeAlias = Annotated[int, FixedSizeType("uint16", "H", 2, 0)]
Int32: TypeAlias = Annotated[int, FixedSizeType("int32", "i", 4, 0)]
UInt32: TypeAlias = Annotated[int, FixedSizeType("uint32", "I", 4, 0)]
Int64: TypeAlias = Annotated[int, FixedSizeType("int64", "q", 8, 0)]
Float64: TypeAlias = Annotated[float, FixedSizeType("float64", "d", 8, 0.0)]
Bool: TypeAlias = Annotated[bool, FixedSizeType("bool", "?", 1, default=False)]
Uuid: TypeAlias = Annotated[uuids.Uuid, UUID]
String: TypeAlias = Annotated[str, STRING]
Bytes: TypeAlias = Annotated[Buffer, BYTES]
Records: TypeAlias = Annotated[Buffer | Slice, RECORDS]
