"""Fast path for the most common record: no headers, numbers of one or two bytes.

It takes half the time of the general reader; `any_record` falls back to `read_record`. No field is
compared on the way: a correct end implies correct fields.
"""

from typing import TypeAlias

from cordwood.records.kernels.intrinsics import byte_at
from cordwood.records.kernels.kernel_definition import Bytes, inlined
from cordwood.records.kernels.v2_record import (
    R_BODY,
    R_KEY,
    R_KEY_SIZE,
    R_OFFSET,
    R_STOP,
    R_TIMESTAMP,
    R_VALUE_SIZE,
    read_record,
)

#: The bytes that are read before a record's end is known, at most.
NUMBERS = 16

#: The end, or -1; both deltas; position of the key's size; size and position of the key; size of
#: the value.
Usual: TypeAlias = tuple[int, int, int, int, int, int, int]


@inlined
def _short(source: Bytes, position: int) -> tuple[int, int, int]:
    """Read a number of one or two bytes; return it, the position after it, and 0x80 for a longer
    one.
    """
    byte = byte_at(source, position)
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1, 0
    second = byte_at(source, position + 1)
    byte = byte & 0x7F | second << 7
    return (byte >> 1) ^ -(byte & 1), position + 2, second & 0x80


@inlined
def usual_record(source: Bytes, position: int, end: int) -> Usual:
    """Read a record without headers and with short numbers; -1 means: use `read_record`."""
    if end - position < NUMBERS:
        return -1, 0, 0, 0, 0, 0, 0
    length, at_attributes, longer = _short(source, position)
    stop = at_attributes + length
    timestamp, place, more = _short(source, at_attributes + 1)
    longer |= more
    offset, body, more = _short(source, place)
    longer |= more
    key_size, key, more = _short(source, body)
    place = key + max(key_size, 0)
    if longer | more or stop > end or place + 2 > stop:
        return -1, 0, 0, 0, 0, 0, 0
    value_size, place, more = _short(source, place)
    tail = place + max(value_size, 0)
    if more or tail + 1 != stop or byte_at(source, tail) != 0:
        return -1, 0, 0, 0, 0, 0, 0
    return stop, timestamp, offset, body, key_size, key, value_size


@inlined
def any_record(source: Bytes, position: int, end: int) -> Usual:
    """Read and check a record, by the fast path if possible; -1 for an invalid one."""
    usual = usual_record(source, position, end)
    if usual[0] >= 0:
        return usual
    full = read_record(source, position, end)
    return (
        full[R_STOP], full[R_TIMESTAMP], full[R_OFFSET], full[R_BODY], full[R_KEY_SIZE],
        full[R_KEY], full[R_VALUE_SIZE],
    )  # fmt: skip
