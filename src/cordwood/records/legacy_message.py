"""One message of the old formats: a record of v0 or v1, or a wrapper (Kafka: `LegacyRecord`).

    v0   v1
     0    0  i64  offset; outside the checksum
     8    8  i32  size of all that follows
    12   12  u32  CRC-32 over 16 .. end
    16   16  i8   magic, 0 or 1
    17   17  i8   attributes: 0-2 codec, v1 only: 3 LogAppendTime
     -   18  i64  timestamp
    18   26  i32  key length, negative for null, then the key
     .    .  i32  value length, negative for null, then the value, which ends the message

    example v0, offset 0, k=v:
        0000000000000000 00000010 1fecd70a 00 00 00000001 6b 00000001 76
    example v1, timestamp 1000:
        0000000000000000 00000018 e4e321bc 01 00 00000000000003e8 00000001 6b 00000001 76

Kafka ignores bytes after the value; here they are a fault, since they would be lost in silence.
"""

from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, crc32
from cordwood.core.errors import BytesError

LOG_OVERHEAD: Final = 12
CRC_START: Final = 16
LOG_APPEND_TIME_BIT: Final = 0x08

#: The size field of a message without key and value, by magic.
SMALLEST_SIZE: Final = (14, 22)

#: Where the size of the key is, by magic.
KEY_AT: Final = (18, 26)

_PREFIX: Final = Struct(">qiIbb")
_CRC: Final = Struct(">I")
_TIMESTAMP: Final = Struct(">q")
_LENGTH: Final = Struct(">i")


class LegacyMessage(NamedTuple):
    """The fields of a message; key and value are slices of the buffer, None for null."""

    offset: int
    crc: int
    magic: int
    attributes: int
    timestamp: int
    key: memoryview | None
    value: memoryview | None


def message_size(view: memoryview, position: int, end: int) -> int:
    """Return the size of the message at `position`, which must be before `end`."""
    room = end - position - LOG_OVERHEAD
    if position < 0 or room < SMALLEST_SIZE[0]:
        raise BytesError(
            "no room for a message",
            position=position,
            expected=f"at least {SMALLEST_SIZE[0] + LOG_OVERHEAD} bytes",
            found=max(room + LOG_OVERHEAD, 0),
        )
    _, size, _, magic, _ = _PREFIX.unpack_from(view, position)
    if magic not in (0, 1):
        raise BytesError(
            "not an old message", position=position, expected="magic 0 or 1", found=magic
        )
    if not SMALLEST_SIZE[magic] <= size <= room:
        raise BytesError(
            "a message size that cannot be right",
            position=position,
            expected=f"{SMALLEST_SIZE[magic]} to {room}",
            found=size,
        )
    return LOG_OVERHEAD + int(size)


def read_message(view: memoryview, position: int, end: int) -> LegacyMessage:
    """Read the message between `position` and `end`, as found by `message_size`."""
    offset, _, crc, magic, attributes = _PREFIX.unpack_from(view, position)
    timestamp = _TIMESTAMP.unpack_from(view, position + 18)[0] if magic else -1
    key, at = _read_nullable(view, position + KEY_AT[magic], end)
    value, at = _read_nullable(view, at, end)
    if at != end:
        raise BytesError(
            "a message longer than its fields",
            position=at,
            expected=at - position,
            found=end - position,
        )
    return LegacyMessage(offset, crc, magic, attributes, timestamp, key, value)


def message_crc(view: memoryview, position: int, end: int) -> int:
    """Return the computed checksum of a message."""
    return crc32(view[position + CRC_START : end])


def append_message(out: bytearray, message: LegacyMessage) -> None:
    """Append a message with its computed checksum; `message.crc` is ignored."""
    start = len(out)
    key, value = message.key, message.value
    size = SMALLEST_SIZE[message.magic] + len(key or b"") + len(value or b"")
    out += _PREFIX.pack(message.offset, size, 0, message.magic, message.attributes)
    if message.magic:
        out += _TIMESTAMP.pack(message.timestamp)
    _append_nullable(out, key)
    _append_nullable(out, value)
    with memoryview(out) as view:
        crc = message_crc(view, start, len(out))
    _CRC.pack_into(out, start + LOG_OVERHEAD, crc)


def _read_nullable(view: memoryview, position: int, end: int) -> tuple[memoryview | None, int]:
    """Read a length and the bytes; any negative length is null, as in Kafka."""
    if end - position < _LENGTH.size:
        raise BytesError(
            "no room for a length", position=position, expected=4, found=end - position
        )
    size: int = _LENGTH.unpack_from(view, position)[0]
    at = position + _LENGTH.size
    if size < 0:
        return None, at
    if size > end - at:
        raise BytesError(
            "a length beyond its message",
            position=position,
            expected=f"at most {end - at}",
            found=size,
        )
    return view[at : at + size], at + size


def _append_nullable(out: bytearray, data: Buffer | None) -> None:
    if data is None:
        out += _LENGTH.pack(-1)
    else:
        out += _LENGTH.pack(len(data))
        out += data
