"""Writer of one record's values into the columns of a chunk.

Most copies have up to a few dozen bytes, and a call of memcpy costs more than they do. They move
LINE bytes at a time, past their own end, where both sides have the room. A chunk is larger than the
second-level cache, so its lines are prefetched before the write.
"""

from typing import TypeAlias

from cordwood.records.kernels import layout as at
from cordwood.records.kernels.intrinsics import (
    byte_at,
    copy,
    copy_wide,
    soon_written,
    store_8,
    store_32,
    store_64,
)
from cordwood.records.kernels.kernel_definition import Bytes, Words, inlined
from cordwood.records.kernels.layout import WIDE
from cordwood.records.kernels.utf8_text import put_java_text, utf8
from cordwood.records.kernels.v2_record import varint

LINE = 2 * WIDE  # of the processor's cache
SMALL = 4096  # from here on memcpy is faster
AHEAD = 2048  # distance of the prefetch
INLINE = 12  # a view holds up to N bytes itself

#: Position and size of bytes in the source (negative: null), then the words of their column: the
#: first one in the plan, and those of the state that count its bytes and its nulls.
Part: TypeAlias = tuple[int, int, int, int, int]


@inlined
def put(slab: Bytes, to: int, source: Bytes, position: int, size: int) -> None:
    """Copy bytes; the slab has LINE spare bytes after every column."""
    if size <= SMALL and position + size + LINE <= len(source):
        for done in range(0, size, LINE):
            soon_written(slab, to + done + AHEAD)
            copy_wide(slab, to + done, source, position + done)
            copy_wide(slab, to + done + WIDE, source, position + done + WIDE)
    else:
        copy(slab, to, source, position, size)


@inlined
def clear_bit(slab: Bytes, bits: int, row: int) -> None:
    """Mark a row as null; every bit was set at the start of the chunk."""
    place = bits + (row >> 3)
    store_8(slab, place, byte_at(slab, place) & ~(1 << (row & 7)))


@inlined
def put_view(slab: Bytes, to: int, source: Bytes, position: int, size: int, plan: Words) -> None:
    """Write the 16 bytes of an Arrow view: a size, then the bytes or their position."""
    store_64(slab, to, max(size, 0))
    store_64(slab, to + 8, 0)
    if size <= 0:
        return
    if size <= INLINE:
        copy(slab, to + 4, source, position, size)
        return
    copy(slab, to + 4, source, position, 4)
    store_32(slab, to + 8, plan[at.P_VIEW_BUFFER])
    store_32(slab, to + 12, position - plan[at.P_VIEW_ORIGIN])


@inlined
def put_headers(source: Bytes, position: int, slab: Bytes, plan: Words, state: Words) -> None:
    """Copy the headers of one record, validated by `walk_headers`."""
    end = len(source)
    count, position = varint(source, position, end)
    for _ in range(count):
        row = state[at.F_HEADERS]
        size, position = varint(source, position, end)
        used = state[at.F_HEADER_KEY_BYTES]
        begin = plan[at.P_HEADER_KEY_DATA]
        if utf8(source, position, position + size) < 0:
            after = put_java_text(source, position, position + size, slab, begin + used) - begin
        else:
            put(slab, begin + used, source, position, size)
            after = used + size
        store_32(slab, plan[at.P_HEADER_KEY] + 4 * row + 4, after)
        state[at.F_HEADER_KEY_BYTES] = after
        size, position = varint(source, position + size, end)
        used = state[at.F_HEADER_VALUE_BYTES]
        if size < 0:
            clear_bit(slab, plan[at.P_HEADER_VALUE_BITS], row)
            state[at.F_HEADER_NULLS] += 1
            size = 0
        put(slab, plan[at.P_HEADER_VALUE_DATA] + used, source, position, size)
        store_32(slab, plan[at.P_HEADER_VALUE] + 4 * row + 4, used + size)
        state[at.F_HEADER_VALUE_BYTES] = used + size
        position += size
        state[at.F_HEADERS] = row + 1


@inlined
def put_bytes(source: Bytes, part: Part, slab: Bytes, plan: Words, state: Words) -> None:
    """Write a key or a value at the state's row."""
    position, size, column, counter, nulls = part
    row = state[at.F_ROWS]
    if size < 0:
        clear_bit(slab, plan[column + 1], row)
        state[nulls] += 1
    if plan[at.P_IS_VIEW]:
        put_view(slab, plan[column] + 16 * row, source, position, size, plan)
        return
    used = state[counter]
    if size > 0:
        put(slab, plan[column + 2] + used, source, position, size)
        used += size
        state[counter] = used
    store_32(slab, plan[column] + 4 * row + 4, used)


@inlined
def fill_32(slab: Bytes, begin: int, first: int, last: int, value: int) -> None:
    """Write one number of 32 bits for every row of a batch."""
    if begin >= 0:
        for row in range(first, last):
            store_32(slab, begin + 4 * row, value)


@inlined
def fill_8(slab: Bytes, begin: int, first: int, last: int, value: int) -> None:
    """Write one number of 8 bits for every row of a batch."""
    if begin >= 0:
        for row in range(first, last):
            store_8(slab, begin + row, value)
