"""The record that is met most: without headers, of numbers that take a byte or two each.

Reading only that takes half the time of reading any record, so `read_record` is asked where this
one gives up, as `any_record` does. Nothing is compared on the way, for the end is right only if all
before it was.
"""

from typing import TypeAlias

from cordwood.records.kernels.door import Bytes, inlined
from cordwood.records.kernels.intrinsics import byte_at
from cordwood.records.kernels.record import (
    R_BODY,
    R_KEY,
    R_KEY_SIZE,
    R_OFFSET,
    R_STOP,
    R_TIMESTAMP,
    R_VALUE_SIZE,
    read_record,
)

#: At least as many bytes as are looked at before a record's end is known.
NUMBERS = 16

#: Where it ends, or -1; both deltas; where the key's size stands; size and place of the key; size
#: of the value.
Usual: TypeAlias = tuple[int, int, int, int, int, int, int]


@inlined
def _short(source: Bytes, position: int) -> tuple[int, int, int]:
    """A number of one or two bytes, the position after it, and 0x80 if it is a longer one."""
    byte = byte_at(source, position)
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1, 0
    second = byte_at(source, position + 1)
    byte = byte & 0x7F | second << 7
    return (byte >> 1) ^ -(byte & 1), position + 2, second & 0x80


@inlined
def usual_record(source: Bytes, position: int, end: int) -> Usual:
    """Read a record without headers, of short numbers; -1: let `read_record` see what it is."""
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
    """Read and check a record, as quickly as it lets itself be read; -1: it is not sound."""
    usual = usual_record(source, position, end)
    if usual[0] >= 0:
        return usual
    full = read_record(source, position, end)
    return (
        full[R_STOP], full[R_TIMESTAMP], full[R_OFFSET], full[R_BODY], full[R_KEY_SIZE],
        full[R_KEY], full[R_VALUE_SIZE],
    )  # fmt: skip
