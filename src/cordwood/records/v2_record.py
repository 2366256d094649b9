"""One record of a v2 batch, without the fields of its batch (Kafka: `DefaultRecord`).

    varint   length of all that follows
    i8       attributes, unused: written as 0, never checked
    varlong  timestamp delta, to the batch's base timestamp
    varint   offset delta, to the batch's base offset
    varint   key length, negative for null, then the key
    varint   value length, negative for null, then the value
    varint   number of headers, each:
        varint   key length, then the key in UTF-8; other bytes are read as Java reads them,
                 with replacement characters
        varint   value length, negative for null, then the value

    example  key k1, value v1, both deltas 0:  14 00 00 00 04 6b31 04 7631 00

Faults are `BytesError`s with a position in `data`; the batch adds its own location.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.core.binary import (
    Buffer,
    CachedVarints,
    append_varint,
    append_varlong,
    bytes_view,
    read_varint,
    read_varlong,
)
from cordwood.core.errors import BytesError
from cordwood.core.java_text import text_as_java
from cordwood.records.record import NO_HEADERS, Header

#: Attributes, two deltas, two lengths and a count take a byte each, the length before them one.
SMALLEST_BODY: Final = 6
SMALLEST_RECORD: Final = 7

_VARINTS: Final = CachedVarints(append_varint)
_VARLONGS: Final = CachedVarints(append_varlong)
_NO_ATTRIBUTES: Final = b"\0"
_NO_HEADERS: Final = b"\0"

_SIGN: Final = 1 << 63
_WRAP: Final = (1 << 64) - 1


class V2Record(NamedTuple):
    """The fields of a record without those of its batch."""

    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    end: int


def wrap_int64(number: int) -> int:
    """Return `number` wrapped to 64 bits: the sum of base and delta wraps, as in Kafka."""
    return ((number + _SIGN) & _WRAP) - _SIGN


def read_v2_record(data: Buffer, position: int, end: int) -> V2Record:
    """Read the record at `position`; all of its bytes must be before `end`."""
    length, start = read_varint(data, position, end)
    stop = start + length
    if not SMALLEST_BODY <= length <= end - start:
        raise BytesError(
            "a record length that cannot be right",
            position=position,
            expected=f"{SMALLEST_BODY} to {end - start}",
            found=length,
        )
    timestamp_delta, at = read_varlong(data, start + 1, stop)
    offset_delta, at = read_varint(data, at, stop)
    key, at = read_nullable(data, at, stop)
    value, at = read_nullable(data, at, stop)
    headers, at = _read_headers(data, at, stop)
    if at != stop:
        raise BytesError(
            "a record longer than its fields", position=at, expected=at - start, found=length
        )
    return V2Record(timestamp_delta, offset_delta, key, value, headers, stop)


def append_v2_record(
    out: bytearray,
    *,
    timestamp_delta: int,
    offset_delta: int,
    key: Buffer | None,
    value: Buffer | None,
    headers: Sequence[Header] = NO_HEADERS,
) -> None:
    """Append a record, or raise without appending; both deltas have to fit their types."""
    if type(key) is not bytes:
        key = _sized(key, "key")
    if type(value) is not bytes:
        value = _sized(value, "value")
    body = b"".join(
        (
            _NO_ATTRIBUTES,
            _VARLONGS[timestamp_delta],
            _VARINTS[offset_delta],
            _VARINTS[-1 if key is None else len(key)],
            key or b"",
            _VARINTS[-1 if value is None else len(value)],
            value or b"",
            _headers_bytes(headers) if headers else _NO_HEADERS,
        )
    )
    out += _VARINTS[len(body)]
    out += body


def read_nullable(data: Buffer, position: int, end: int) -> tuple[bytes | None, int]:
    """Read a length and the bytes; any negative length is null, as in Kafka."""
    size, at = read_varint(data, position, end)
    if size < 0:
        return None, at
    if size > end - at:
        raise BytesError(
            "a length beyond its record",
            position=position,
            expected=f"at most {end - at}",
            found=size,
        )
    return bytes(data[at : at + size]), at + size


def _read_headers(data: Buffer, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    """Read the count, then the headers, each of at least two bytes."""
    count, at = read_varint(data, position, end)
    if count == 0:
        return NO_HEADERS, at
    if not 0 <= count <= (end - at) // 2:
        raise BytesError(
            "a header count that cannot be right",
            position=position,
            expected=f"0 to {(end - at) // 2}",
            found=count,
        )
    headers = []
    for _ in range(count):
        name, at_value = _read_header_key(data, at, end)
        content, at = read_nullable(data, at_value, end)
        headers.append((name, content))
    return tuple(headers), at


def _read_header_key(data: Buffer, position: int, end: int) -> tuple[str, int]:
    """Read a header's key, which is never null."""
    raw, at = read_nullable(data, position, end)
    if raw is None:
        raise BytesError("a null header key", position=position, expected="a key", found="null")
    return text_as_java(raw), at


def _encode_key(name: str) -> bytes:
    """Return a header's key as UTF-8; lone surrogates are an error."""
    if not isinstance(name, str):
        raise BytesError(
            "a header key that is not text", position=0, expected="str", found=type(name).__name__
        )
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        raise BytesError(
            "a header key that UTF-8 cannot encode",
            position=error.start,
            expected="whole characters",
            found=ascii(name[error.start]),
        ) from error


def _sized(data: Buffer | None, what: str) -> Buffer | None:
    """Return the same bytes in a form whose `len` is their size."""
    if isinstance(data, str):
        raise TypeError(f"a {what} is bytes, not text: encode {data[:20]!r} first")
    return data if data is None or isinstance(data, bytes) else bytes_view(data)


def _headers_bytes(headers: Sequence[Header]) -> bytes:
    if isinstance(headers, dict):
        raise TypeError("headers are pairs, of which two may have one key: pass headers.items()")
    parts = [_VARINTS[len(headers)]]
    for name, content in headers:
        key, value = _encode_key(name), _sized(content, "header value")
        parts += (_VARINTS[len(key)], key, _VARINTS[-1 if value is None else len(value)])
        parts.append(bytes(value or b""))
    return b"".join(parts)


def body_position(data: Buffer, start: int, end: int) -> int:
    """Return the position of the length of the key of a valid record."""
    _, at = read_varint(data, start, end)
    _, at = read_varlong(data, at + 1, end)
    return read_varint(data, at, end)[1]
