"""Confluent wire format: the schema id before a value (Confluent: `SchemaIdSerializer`).

    0 | schema id: 4 bytes, big-endian | the value in Avro or JSON
    0 | schema id: 4 bytes, big-endian | message indexes | the value in Protobuf

Message indexes are the path to a message type in its file: its number among the types at the top,
then its number among the types nested in that, and so on. They are zigzag varints with their count
first; the path to the first type, [0], is the single byte 0.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CorruptMessageError

#: The bytes before the value, or before the message indexes.
HEADER_BYTES: Final = 5

_MAGIC: Final = b"\0"
_MOST_VARINT_BYTES: Final = 5
#: The nesting that a compiler of Protobuf accepts is far below.
_MOST_INDEXES: Final = 64


class SchemaFrame(NamedTuple):
    """The schema id of a value, or the error of a value without a valid one."""

    schema_id: int | None
    error: str | None


def read_frame(value: bytes) -> SchemaFrame:
    """Return the schema id of a value."""
    if len(value) < HEADER_BYTES or value[:1] != _MAGIC:
        found = value[:HEADER_BYTES].hex() or "no byte"
        return SchemaFrame(None, f"no schema id (begins with {found})")
    number = int.from_bytes(value[1:HEADER_BYTES], "big")
    if number > INT32_MAX:
        return SchemaFrame(None, f"schema {number}: not a positive integer of 32 bits")
    return SchemaFrame(number, None)


def frame_header(schema_id: int) -> bytes:
    """Return the bytes before a value with this schema."""
    return _MAGIC + schema_id.to_bytes(HEADER_BYTES - 1, "big")


def read_message_indexes(value: bytes, at: int) -> tuple[list[int], int]:
    """Return the message indexes at a position, and the position after them.

    Raise CorruptMessageError if they are not complete.
    """
    count, at = _read_varint(value, at)
    if not 0 <= count <= _MOST_INDEXES:
        raise CorruptMessageError(f"{count} message indexes")
    indexes = []
    for _ in range(count):
        index, at = _read_varint(value, at)
        if index < 0:
            raise CorruptMessageError(f"message index {index}")
        indexes.append(index)
    return indexes or [0], at


def message_indexes(indexes: Sequence[int]) -> bytes:
    """Return the bytes of message indexes."""
    if list(indexes) == [0]:
        return b"\0"
    return b"".join(map(_varint, (len(indexes), *indexes)))


def _read_varint(value: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place, byte in enumerate(value[at : at + _MOST_VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + place + 1
    raise CorruptMessageError("message indexes are not complete")


def _varint(number: int) -> bytes:
    rest, out = (number << 1) ^ (number >> 31), bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
