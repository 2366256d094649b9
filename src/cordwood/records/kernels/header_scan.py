"""Scan over headers: the batches of a buffer as rows, and the kind of the next run.

    at 0 offset i64 | 8 size i32 | 16 magic i8 | v2: see the rows of the table, at 12 .. 60

Only headers are read. A run consists of batches of one kind, as many as fit the table and the
processor's cache between the checksum and the decoding.
"""

from cordwood.core.binary import INT64_MAX
from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.intrinsics import load_8, load_16, load_32, load_64, wrapping_sum
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import CONTROL_BIT

PREFIX = 17  # offset, size and what is read up to the magic
MIN_SIZE = 14
V2_HEADER = 61
V0_SIZE = 14
V1_SIZE = 22


@inlined
def kind_at(source: Bytes, position: int) -> int:
    """Return the kind of run of this batch; -1 for an impossible one, -2 for an incomplete one."""
    if len(source) - position < PREFIX:
        return -2
    size = load_32(source, position + 8)
    if size < MIN_SIZE:
        return -1
    if size > len(source) - position - LOG_OVERHEAD:
        return -2
    magic = load_8(source, position + 16)
    if magic == 2 and size + LOG_OVERHEAD >= V2_HEADER:
        is_packed = load_16(source, position + 21) & CODEC_BITS != 0
        return at.PACKED_RUN if is_packed else at.PLAIN_RUN
    if (magic == 0 and size >= V0_SIZE) or (magic == 1 and size >= V1_SIZE):
        is_packed = load_8(source, position + 17) & CODEC_BITS != 0
        return at.WRAPPER_RUN if is_packed else at.LEGACY_RUN
    return -1


@inlined
def _take(source: Bytes, position: int, table: Words, row: int, state: Words) -> int:
    """Write a v2 header into a row of the table; return its last offset."""
    attributes = load_16(source, position + 21)
    table[row, at.T_POSITION] = position
    table[row, at.T_BASE_OFFSET] = load_64(source, position)
    table[row, at.T_LEADER_EPOCH] = load_32(source, position + 12)
    table[row, at.T_CRC] = load_32(source, position + 17) & 0xFFFFFFFF
    table[row, at.T_ATTRIBUTES] = attributes
    table[row, at.T_LAST_DELTA] = load_32(source, position + 23)
    table[row, at.T_BASE_TIMESTAMP] = load_64(source, position + 27)
    table[row, at.T_MAX_TIMESTAMP] = load_64(source, position + 35)
    table[row, at.T_PRODUCER_ID] = load_64(source, position + 43)
    table[row, at.T_PRODUCER_EPOCH] = load_16(source, position + 51)
    table[row, at.T_BASE_SEQUENCE] = load_32(source, position + 53)
    table[row, at.T_COUNT] = load_32(source, position + 57)
    table[row, at.T_DATA] = position + V2_HEADER
    table[row, at.T_DATA_END] = position + load_32(source, position + 8) + LOG_OVERHEAD
    table[row, at.T_SIZE] = load_32(source, position + 8) + LOG_OVERHEAD
    base, delta = load_64(source, position), load_32(source, position + 23)
    last = wrapping_sum(base, delta)
    latest = load_64(source, position + 35)
    is_sound = base >= 0 and 0 <= delta <= INT64_MAX - base
    is_outside = last < state[at.S_START] or 0 <= latest < state[at.S_MIN_TIMESTAMP]
    if is_sound and is_outside:
        table[row, at.T_ACTION] = at.SKIP
    else:
        table[row, at.T_ACTION] = at.CHECK if attributes & CONTROL_BIT else at.ROWS
    return last


@inlined
def _take_message(source: Bytes, position: int, table: Words, row: int) -> int:
    """Extend the single row of a legacy run by one more message; return its offset."""
    if row == 0:
        table[0, at.T_POSITION] = position
        table[0, at.T_DATA] = position
    end = position + load_32(source, position + 8) + LOG_OVERHEAD
    table[0, at.T_DATA_END] = end
    table[0, at.T_BASE_OFFSET] = load_64(source, position)
    table[0, at.T_ATTRIBUTES] = load_8(source, position + 17)
    table[0, at.T_ACTION] = at.ROWS
    return load_64(source, position)


@inlined
def _has_sure_offset(source: Bytes, position: int, kind: int) -> bool:
    """Return whether the header gives the last offset; see the plain decoder's."""
    if kind != at.WRAPPER_RUN:
        return True
    return load_8(source, position + 16) == 1 and load_64(source, position) != 0


@inlined
def has_records(source: Bytes, row: Words) -> bool:
    """Return whether the range of a row's records is inside of its source."""
    return bool(0 <= row[at.T_DATA] <= row[at.T_DATA_END] <= len(source))


@inlined
def has_batch(source: Bytes, row: Words) -> bool:
    """Return whether a row's batch is inside of its source: header, and records behind it."""
    has_header = 0 <= row[at.T_POSITION] <= len(source) - V2_HEADER
    return bool(has_header and row[at.T_DATA_END] <= len(source))


@kernel(INT, SOURCE, BATCH_ROWS, WORDS.of(at.SCAN_WORDS))
def scan(source: Bytes, table: Words, state: Words) -> int:
    """Fill the table with the next run; `state` holds the start and receives the result."""
    position = state[at.S_POSITION]
    limit = position + state[at.S_GROUP_BYTES]
    kind = kind_at(source, position)
    state[at.S_KIND] = kind
    rows = 0
    status = at.MORE
    while status == at.MORE and position < limit and rows < len(table):
        found = kind_at(source, position)
        if found < 0:
            status = at.CUT if found == -2 else at.MALFORMED
        if found != kind or found < 0 or (kind == at.WRAPPER_RUN and rows == 1):
            break
        is_legacy = found >= at.LEGACY_RUN
        if not is_legacy and load_64(source, position) > state[at.S_LAST]:
            status = at.FINISHED
            break
        if is_legacy:
            last = _take_message(source, position, table, rows)
        else:
            last = _take(source, position, table, rows, state)
        rows += 1
        if last >= state[at.S_LAST] and _has_sure_offset(source, position, found):
            status = at.FINISHED
        position += load_32(source, position + 8) + LOG_OVERHEAD
    state[at.S_POSITION] = position
    state[at.S_COUNT] = min(rows, 1) if kind >= at.LEGACY_RUN else rows
    state[at.S_STATUS] = status
    return rows
