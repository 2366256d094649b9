"""One v2 record, found by its lengths, each compared with the remaining bytes.

    length   attributes  timestamp delta  offset delta  key           value         headers
    varint   i8          varlong          varint        varint bytes  varint bytes  varint count ...

Positions are passed on: a reader with the position -1, or with an invalid field, returns -1. So one
comparison at the end of a record covers all of its fields.
"""

from typing import TypeAlias

from cordwood.records.kernels.intrinsics import byte_at
from cordwood.records.kernels.kernel_definition import Bytes, inlined
from cordwood.records.kernels.utf8_text import java_text_size

#: End, timestamp delta, offset delta, size and position of the key and of the value; start, count
#: and bytes of the headers; position of the key's size.
Record: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int]
R_STOP, R_TIMESTAMP, R_OFFSET, R_KEY_SIZE, R_KEY, R_VALUE_SIZE, R_VALUE = range(7)
R_TAIL, R_HEADERS, R_HEADER_BYTES, R_BODY = range(7, 11)

MIN_BODY = 6  # attributes, two deltas, two lengths, a count: a byte each
LOW_31 = (1 << 31) - 1
LOW_63 = (1 << 63) - 1


@inlined
def _groups(source: Bytes, position: int, end: int, longest: int) -> tuple[int, int]:
    """Join groups of seven bits; the number is still zigzagged."""
    raw = 0
    shift = 0
    stop = min(end, position + longest)
    while position < stop:
        byte = byte_at(source, position)
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return raw, position
        shift += 7
    return 0, -1


@inlined
def varint(source: Bytes, position: int, end: int) -> tuple[int, int]:
    """Return a number of 32 bits and the position after it, or -1."""
    if position < 0 or position >= end:
        return 0, -1
    byte = byte_at(source, position)
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    if position + 1 < end:
        second = byte_at(source, position + 1)
        if second < 0x80:
            byte = (byte & 0x7F) | (second << 7)
            return (byte >> 1) ^ -(byte & 1), position + 2
    raw, after = _groups(source, position, end, 5)
    return ((raw >> 1) & LOW_31) ^ -(raw & 1), after


@inlined
def varlong(source: Bytes, position: int, end: int) -> tuple[int, int]:
    """Return a number of 64 bits and the position after it, or -1."""
    if position < 0 or position >= end:
        return 0, -1
    byte = byte_at(source, position)
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    if end - position > 2:
        second, third = byte_at(source, position + 1), byte_at(source, position + 2)
        if second < 0x80:
            byte = byte & 0x7F | second << 7
            return (byte >> 1) ^ -(byte & 1), position + 2
        if third < 0x80:
            byte = byte & 0x7F | (second & 0x7F) << 7 | third << 14
            return (byte >> 1) ^ -(byte & 1), position + 3
    raw, after = _groups(source, position, end, 10)
    return ((raw >> 1) & LOW_63) ^ -(raw & 1), after


@inlined
def skip(position: int, size: int, end: int) -> int:
    """Return the position after `size` bytes, or -1 when they are missing; a null takes none."""
    if size < 0:
        return position
    if position < 0 or size > end - position:
        return -1
    return position + size


@inlined
def is_inside(source: Bytes, position: int, end: int) -> bool:
    """Return whether a range is inside of its source."""
    return 0 <= position <= end <= len(source)


@inlined
def walk_headers(source: Bytes, position: int, stop: int) -> tuple[int, int, int]:
    """Check every header of a record: where they end (-1 when unsound), their count and bytes.

    Keys count with the bytes of their text in Java.
    """
    count, position = varint(source, position, stop)
    if count < 0 or position < 0 or count > stop - position:
        return -1, 0, 0
    size = 0
    for _ in range(count):
        key_size, position = varint(source, position, stop)
        key_end = skip(position, key_size, stop)
        if key_size < 0 or key_end < 0:
            return -1, 0, 0
        size += java_text_size(source, position, key_end)
        value_size, position = varint(source, key_end, stop)
        position = skip(position, value_size, stop)
        if position < 0:
            return -1, 0, 0
        size += max(value_size, 0)
    return position, count, size


@inlined
def read_record(source: Bytes, position: int, end: int) -> Record:
    """Read and check one record; its first word is -1 when it is not sound."""
    length, position = varint(source, position, end)
    stop = skip(position, length, end)
    if length < MIN_BODY or stop < 0:
        return -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    timestamp, position = varlong(source, position + 1, stop)
    offset, body = varint(source, position, stop)
    key_size, key_at = varint(source, body, stop)
    value_size, value_at = varint(source, skip(key_at, key_size, stop), stop)
    tail = skip(value_at, value_size, stop)
    after = headers = header_bytes = 0
    if tail >= 0 and tail + 1 == stop and byte_at(source, tail) == 0:
        after = stop
    else:
        after, headers, header_bytes = walk_headers(source, tail, stop)
    if after != stop:
        stop = -1
    return (
        stop, timestamp, offset, key_size, key_at, value_size, value_at, tail,
        headers, header_bytes, body,
    )  # fmt: skip
