"""Reader of records into a block: fast for common records, one by one for the others.

A common record has no headers, and its lengths and deltas take at most three bytes each. The start
of the next record follows from the length alone, so the processor reads several records at once: no
step waits for a comparison. Other records, the last few bytes of a batch and all invalid records go
to `read_record`.
"""

from typing import TypeAlias

from cordwood.records.kernels import block as in_block
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.block import note, zigzagged
from cordwood.records.kernels.intrinsics import byte_at
from cordwood.records.kernels.kernel_definition import Bytes, Words, inlined, spliced
from cordwood.records.kernels.v2_record import (
    R_HEADER_BYTES,
    R_HEADERS,
    R_KEY,
    R_KEY_SIZE,
    R_OFFSET,
    R_STOP,
    R_TAIL,
    R_TIMESTAMP,
    R_VALUE_SIZE,
    read_record,
)

#: The next row of the block, its position, and twice the previous delta.
Cursor: TypeAlias = tuple[int, int, int]

SHORT = 1 << 21  # a number of three bytes is less
BEFORE_KEY = 13  # four such numbers and the attributes
LONGEST_SHORT = 3


@inlined
def short(source: Bytes, position: int) -> tuple[int, int]:
    """Read up to three bytes of a number, still zigzagged; SHORT or more for a longer one."""
    raw = byte_at(source, position)
    if raw < 0x80:
        return raw, position + 1
    second = byte_at(source, position + 1)
    raw += (second << 7) - 0x80
    if second < 0x80:
        return raw, position + 2
    return raw + (byte_at(source, position + 2) << 14) - 0x4000, position + 3


@inlined
def is_odd_length(raw: int) -> bool:
    """Return whether a zigzagged length is negative, but not the -1 of null."""
    return raw & 1 != 0 and raw != 1


@inlined
def read_quickly(source: Bytes, batch: Words, block: Bytes, cursor: Cursor, rows: int) -> Cursor:
    """Read common records, at most `rows` of them; return the position reached."""
    row, position, previous = cursor
    end = batch[at.T_DATA_END]
    last = 2 * batch[at.T_LAST_DELTA]
    while row < rows and position + BEFORE_KEY <= end:
        length, after = short(source, position)
        stop = after + (length >> 1)
        timestamp, after = short(source, after + 1)
        delta, after = short(source, after)
        key_size, key_end = short(source, after)
        key_end += key_size >> 1
        if stop > end or key_end + LONGEST_SHORT > end:
            break
        value_size, tail = short(source, key_end)
        tail += value_size >> 1
        if tail + 1 != stop or is_odd_length(key_size) or is_odd_length(value_size):
            break
        if (length | timestamp | delta | key_size | value_size) >= SHORT or (length | delta) & 1:
            break
        if delta <= previous or delta > last or byte_at(source, tail) != 0:
            break
        note(block, in_block.B_TIMESTAMP, row, timestamp)
        note(block, in_block.B_OFFSET, row, delta)
        note(block, in_block.B_KEY, row, key_end)
        note(block, in_block.B_KEY + 1, row, key_size)
        note(block, in_block.B_VALUE, row, tail)
        note(block, in_block.B_VALUE + 1, row, value_size)
        note(block, in_block.B_HEADER_COST, row, 0)
        previous = delta
        row += 1
        position = stop
    return row, position, previous


@inlined
def _length_noted(size: int) -> int:
    """Return a length as a block holds it: every negative one is null."""
    return 2 * size if size >= 0 else 1


@inlined
def read_slowly(source: Bytes, batch: Words, block: Bytes, cursor: Cursor) -> Cursor:
    """Read one record of any kind; the returned position is -1 for an invalid one."""
    row, position, previous = cursor
    record = read_record(source, position, batch[at.T_DATA_END])
    delta = 2 * record[R_OFFSET]
    if record[R_STOP] < 0 or delta <= previous or delta > 2 * batch[at.T_LAST_DELTA]:
        return row, -1, previous
    key_size = record[R_KEY_SIZE]
    cost = record[R_HEADER_BYTES] + at.HEADER_COST * record[R_HEADERS]
    note(block, in_block.B_TIMESTAMP, row, zigzagged(record[R_TIMESTAMP]))
    note(block, in_block.B_OFFSET, row, delta)
    note(block, in_block.B_KEY, row, record[R_KEY] + max(key_size, 0))
    note(block, in_block.B_KEY + 1, row, _length_noted(key_size))
    note(block, in_block.B_VALUE, row, record[R_TAIL])
    note(block, in_block.B_VALUE + 1, row, _length_noted(record[R_VALUE_SIZE]))
    note(block, in_block.B_HEADER_COST, row, cost)
    return row + 1, record[R_STOP], delta


@inlined
def _begin(state: Words) -> Cursor:
    """Return the start of a block. Twice -1, before the first record, is less than any delta."""
    return 0, int(state[at.F_POSITION]), 2 * int(state[at.F_LAST_DELTA])


@spliced
def read_block(source: Bytes, batch: Words, block: Bytes, rows: int, state: Words) -> Cursor:
    """Read N records from the state's position; the position is -1 for an invalid one."""
    cursor = _begin(state)
    while cursor[1] >= 0 and cursor[0] < rows:
        cursor = read_quickly(source, batch, block, cursor, rows)
        if cursor[0] < rows:
            cursor = read_slowly(source, batch, block, cursor)
    return cursor
