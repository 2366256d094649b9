"""Writer of a block's records into the columns of a chunk: the selected rows that fit.

There is one loop per column; whether the column is wanted is checked before the loop.
"""

from typing import Final, TypeAlias

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.kernels import block as in_block
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.block import noted, signed
from cordwood.records.kernels.intrinsics import store_32, store_64, wrapping_sum
from cordwood.records.kernels.kernel_definition import Bytes, Words, inlined, spliced
from cordwood.records.kernels.row_writer import clear_bit, put, put_headers, put_view
from cordwood.records.record_batch import LOG_APPEND_TIME_BIT

LOW_31: Final = (1 << 31) - 1

#: The first row of a range in a block, and the one after the last.
Span: TypeAlias = tuple[int, int]
#: The same, then where a column of bytes is found: its words in the block and in the plan, and the
#: words of the state that count its bytes and its nulls.
Part: TypeAlias = tuple[int, int, int, int, int, int]


@inlined
def time_base(batch: Words) -> Span:
    """Return the base of timestamps, and the mask of the deltas that are added to it.

    With LogAppendTime the base is the broker's time and the mask is empty.
    """
    if batch[at.T_ATTRIBUTES] & LOG_APPEND_TIME_BIT:
        return int(batch[at.T_MAX_TIMESTAMP]), 0
    return int(batch[at.T_BASE_TIMESTAMP]), -1


@inlined
def _is_selected(batch: Words, block: Bytes, row: int, plan: Words) -> bool:
    """Return whether a record is in both ranges."""
    offset = int(batch[at.T_BASE_OFFSET]) + (noted(block, in_block.B_OFFSET, row) >> 1)
    base, deltas = time_base(batch)
    delta = signed(noted(block, in_block.B_TIMESTAMP, row)) & deltas
    timestamp = wrapping_sum(base, delta)
    is_near = int(plan[at.P_START]) <= offset <= int(plan[at.P_LAST])
    return is_near and int(plan[at.P_MIN_TIMESTAMP]) <= timestamp <= int(plan[at.P_MAX_TIMESTAMP])


@inlined
def _has_all(batch: Words, block: Bytes, rows: int, plan: Words) -> bool:
    """Return whether both ranges surely hold all records; offsets rise from first to last."""
    base = int(batch[at.T_BASE_OFFSET])
    first = base + (noted(block, in_block.B_OFFSET, 0) >> 1)
    last = base + (noted(block, in_block.B_OFFSET, rows - 1) >> 1)
    earliest, latest = int(plan[at.P_MIN_TIMESTAMP]), int(plan[at.P_MAX_TIMESTAMP])
    is_near = int(plan[at.P_START]) <= first and last <= int(plan[at.P_LAST])
    return is_near and earliest == INT64_MIN and latest == INT64_MAX


@inlined
def wanted(batch: Words, block: Bytes, rows: Span, plan: Words) -> Span:
    """Return the next consecutive selected records, within `rows`."""
    first, end = rows
    if _has_all(batch, block, end, plan):
        return first, end
    while first < end and not _is_selected(batch, block, first, plan):
        first += 1
    last = first
    while last < end and _is_selected(batch, block, last, plan):
        last += 1
    return first, last


@inlined
def _mask(place: int) -> int:
    """Return all bits for a wanted column, none for another."""
    return -1 if place >= 0 else 0


@inlined
def _cost(block: Bytes, row: int, masks: tuple[int, int, int]) -> int:
    """Return the bytes that a record counts in a chunk; the size noted for null halves to none."""
    key = (noted(block, in_block.B_KEY + 1, row) >> 1) & masks[0]
    value = (noted(block, in_block.B_VALUE + 1, row) >> 1) & masks[1]
    return key + value + (noted(block, in_block.B_HEADER_COST, row) & masks[2])


@inlined
def fitting(block: Bytes, rows: Span, plan: Words, state: Words) -> int:
    """Return the row after the last that fits; F_NEEDED is the cost of the next one."""
    masks = _mask(plan[at.P_KEY]), _mask(plan[at.P_VALUE]), _mask(plan[at.P_HEADERS])
    room = int(plan[at.P_MAX_ROWS]) - int(state[at.F_ROWS])
    left = int(plan[at.P_MAX_BYTES]) - int(state[at.F_BYTES])
    total = 0
    for row in range(rows[0], rows[1]):
        total += _cost(block, row, masks)
    last = rows[1]
    if total > left or last - rows[0] > room:
        limit = rows[0] + min(last - rows[0], room)
        last, total = rows[0], 0
        cost = _cost(block, last, masks)
        while last < limit and total + cost <= left:
            total += cost
            last += 1
            cost = _cost(block, last, masks)
        state[at.F_NEEDED] = cost
    state[at.F_BYTES] += total
    return last


# -- one loop a column


@inlined
def put_numbers(
    batch: Words, block: Bytes, rows: Span, slab: Bytes, plan: Words, state: Words
) -> None:
    """Write the numbers that differ between records."""
    ahead = int(state[at.F_ROWS]) - rows[0]
    to = int(plan[at.P_OFFSET]) + 8 * ahead
    if plan[at.P_OFFSET] >= 0:
        base = int(batch[at.T_BASE_OFFSET])
        for row in range(rows[0], rows[1]):
            store_64(slab, to + 8 * row, base + (noted(block, in_block.B_OFFSET, row) >> 1))
    to = int(plan[at.P_TIMESTAMP]) + 8 * ahead
    if plan[at.P_TIMESTAMP] >= 0:
        base, deltas = time_base(batch)
        for row in range(rows[0], rows[1]):
            delta = signed(noted(block, in_block.B_TIMESTAMP, row)) & deltas
            store_64(slab, to + 8 * row, wrapping_sum(base, delta))
    to = int(plan[at.P_SEQUENCE]) + 4 * ahead
    if plan[at.P_SEQUENCE] >= 0:
        base = int(batch[at.T_BASE_SEQUENCE])
        none = -1 if base < 0 else 0
        for row in range(rows[0], rows[1]):
            delta = noted(block, in_block.B_OFFSET, row) >> 1
            store_32(slab, to + 4 * row, (base + delta) & LOW_31 | none)


@inlined
def _put_nulls(block: Bytes, part: Part, slab: Bytes, plan: Words, state: Words) -> None:
    """Count the nulls, and clear their bits."""
    first, end, sizes = part[0], part[1], part[2] + 1
    nulls = 0
    for row in range(first, end):
        nulls += noted(block, sizes, row) & 1
    if nulls == 0:
        return
    state[part[5]] += nulls
    bits = int(plan[part[3] + 1])
    ahead = int(state[at.F_ROWS]) - first
    for row in range(first, end):
        if noted(block, sizes, row) & 1:
            clear_bit(slab, bits, ahead + row)


@inlined
def _put_copies(
    source: Bytes, block: Bytes, part: Part, slab: Bytes, plan: Words, state: Words
) -> None:
    """Copy the bytes consecutively, and write the end of each."""
    first, end, word = part[0], part[1], part[2]
    used = int(state[part[4]])
    starts = int(plan[part[3]]) + 4 * (int(state[at.F_ROWS]) - first) + 4
    data = int(plan[part[3] + 2])
    for row in range(first, end):
        size = noted(block, word + 1, row) >> 1
        put(slab, data + used, source, noted(block, word, row) - size, size)
        used += size
        store_32(slab, starts + 4 * row, used)
    state[part[4]] = used


@inlined
def _put_views(
    source: Bytes, block: Bytes, part: Part, slab: Bytes, plan: Words, state: Words
) -> None:
    """Write views, which hold bytes or their position."""
    first, end, word = part[0], part[1], part[2]
    to = int(plan[part[3]]) + 16 * (int(state[at.F_ROWS]) - first)
    for row in range(first, end):
        size = noted(block, word + 1, row) >> 1
        put_view(slab, to + 16 * row, source, noted(block, word, row) - size, size, plan)


@spliced
def _put_bytes(
    source: Bytes, block: Bytes, part: Part, slab: Bytes, plan: Words, state: Words
) -> None:
    """Write keys or values, if they are wanted."""
    if plan[part[3]] < 0:
        return
    _put_nulls(block, part, slab, plan, state)
    if plan[at.P_IS_VIEW]:
        _put_views(source, block, part, slab, plan, state)
    else:
        _put_copies(source, block, part, slab, plan, state)


@inlined
def _put_header_lists(
    source: Bytes, block: Bytes, rows: Span, slab: Bytes, plan: Words, state: Words
) -> None:
    """Copy the headers of the records with headers, and write the start of each record's list."""
    if plan[at.P_HEADERS] < 0:
        return
    to = int(plan[at.P_HEADERS]) + 4 * (int(state[at.F_ROWS]) - rows[0]) + 4
    for row in range(rows[0], rows[1]):
        if noted(block, in_block.B_HEADER_COST, row) > 0:
            put_headers(source, noted(block, in_block.B_VALUE, row), slab, plan, state)
        store_32(slab, to + 4 * row, state[at.F_HEADERS])


@spliced
def put_contents(
    source: Bytes, block: Bytes, rows: Span, slab: Bytes, plan: Words, state: Words
) -> None:
    """Write the records' keys, values and headers."""
    keys = (rows[0], rows[1], in_block.B_KEY, at.P_KEY, at.F_KEY_BYTES, at.F_KEY_NULLS)
    _put_bytes(source, block, keys, slab, plan, state)
    values = (rows[0], rows[1], in_block.B_VALUE, at.P_VALUE, at.F_VALUE_BYTES, at.F_VALUE_NULLS)
    _put_bytes(source, block, values, slab, plan, state)
    _put_header_lists(source, block, rows, slab, plan, state)
