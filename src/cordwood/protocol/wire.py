"""The types of Kafka's wire, as annotations: what a type checker sees, and what the bytes are.

    Int8 .. Int64, UInt16, UInt32, Float64, Bool   big-endian; any byte but 0 is true
    Uuid      16 bytes
    String    int16 length, UTF-8; compact: length + 1 as an unsigned varint
    Bytes     int32 length; compact: length + 1 as an unsigned varint; read as a view of the frame
    Records   as Bytes on the wire; never copied, neither way, and may be a range of a file

A list is an int32 count (compact: count + 1), then its elements. Null is the length -1, compact 0.
Which of the two forms is meant is decided by the version of the message, not by the type.
"""

from typing import Annotated, Final, NamedTuple, TypeAlias

from cordwood.core import ids
from cordwood.core.binary import Buffer
from cordwood.core.ports import Slice


class Fixed(NamedTuple):
    """A type of always the same size; `format` is how `struct` calls it."""

    name: str
    format: str
    size: int
    default: int | float | bool | bytes


class Sized(NamedTuple):
    """A type with a length in front; `prefix` is the length's format where it is not compact."""

    name: str
    prefix: str
    default: str | bytes | None


STRING: Final = Sized("string", "h", "")
BYTES: Final = Sized("bytes", "i", b"")
RECORDS: Final = Sized("records", "i", None)
UUID: Final = Fixed("uuid", "16s", 16, ids.NO_UUID)

Int8: TypeAlias = Annotated[int, Fixed("int8", "b", 1, 0)]
Int16: TypeAlias = Annotated[int, Fixed("int16", "h", 2, 0)]
UInt16: TypeAlias = Annotated[int, Fixed("uint16", "H", 2, 0)]
Int32: TypeAlias = Annotated[int, Fixed("int32", "i", 4, 0)]
UInt32: TypeAlias = Annotated[int, Fixed("uint32", "I", 4, 0)]
Int64: TypeAlias = Annotated[int, Fixed("int64", "q", 8, 0)]
Float64: TypeAlias = Annotated[float, Fixed("float64", "d", 8, 0.0)]
Bool: TypeAlias = Annotated[bool, Fixed("bool", "?", 1, default=False)]
Uuid: TypeAlias = Annotated[ids.Uuid, UUID]
String: TypeAlias = Annotated[str, STRING]
Bytes: TypeAlias = Annotated[Buffer, BYTES]
Records: TypeAlias = Annotated[Buffer | Slice, RECORDS]
