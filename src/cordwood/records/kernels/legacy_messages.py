"""Messages of v0 and v1 into the columns of a chunk: in place, or out of a wrapper.

    at 0 offset i64 | 8 size i32 | 12 crc u32 | 16 magic i8 | 17 attributes i8
    v1 at 18 timestamp i64
    then key and value, each an i32 length (negative: null) and its bytes, which end the message

A plain message is its own batch; the messages of a wrapper are valid together or not at all.
"""

from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.crc32 import crc32
from cordwood.records.kernels.intrinsics import load_8, load_32, load_64, store_16, store_64
from cordwood.records.kernels.kernel_definition import (
    INT,
    SLAB,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
    several,
)
from cordwood.records.kernels.legacy_row import is_selected, put_content, put_numbers, room
from cordwood.records.kernels.row_writer import fill_8, fill_32
from cordwood.records.kernels.v2_record import Record, is_inside, skip
from cordwood.records.legacy_message import LOG_APPEND_TIME_BIT, LOG_OVERHEAD

V0_SIZE = 14
V1_SIZE = 22


@inlined
def _message_end(source: Bytes, position: int, end: int) -> int:
    """Return the end of this message; -1 for an impossible size or magic."""
    if end - position < LOG_OVERHEAD + V0_SIZE:
        return -1
    size = load_32(source, position + 8)
    magic = load_8(source, position + 16)
    least = V1_SIZE if magic == 1 else V0_SIZE
    if magic < 0 or magic > 1 or size < least or size > end - position - LOG_OVERHEAD:
        return -1
    return position + LOG_OVERHEAD + size


@inlined
def _length(source: Bytes, position: int, end: int) -> tuple[int, int]:
    """Return a length of 32 bits and the position after it, or -1."""
    if position < 0 or end - position < 4:
        return 0, -1
    return load_32(source, position), position + 4


@inlined
def _read_message(source: Bytes, position: int, end: int) -> Record:
    """Find the key and the value of a message; the first word is -1 when they do not fill it."""
    begin = position + (26 if load_8(source, position + 16) == 1 else 18)
    key_size, key_at = _length(source, begin, end)
    value_size, value_at = _length(source, skip(key_at, key_size, end), end)
    stop = skip(value_at, value_size, end)
    if stop != end:
        stop = -1
    return stop, 0, 0, key_size, key_at, value_size, value_at, 0, 0, 0, begin


@inlined
def _has_valid_crc(source: Bytes, position: int, end: int) -> bool:
    return crc32(source, position + 16, end) == load_32(source, position + 12) & 0xFFFFFFFF


@inlined
def _is_sound(source: Bytes, position: int, end: int, plan: Words) -> bool:
    """Return whether checksum, offset and attributes are right."""
    offset = load_64(source, position)
    if plan[at.P_IS_WRAPPED]:
        if load_8(source, position + 17) & CODEC_BITS or offset > plan[at.P_HIGHEST]:
            return False
        return offset >= 0 and _has_valid_crc(source, position, end)
    return offset >= 0 and (plan[at.P_CHECK_CRC] == 0 or _has_valid_crc(source, position, end))


@inlined
def _timestamp(source: Bytes, position: int, plan: Words) -> int:
    """Return the time of a message, which v0 lacks."""
    if load_8(source, position + 16) == 0:
        return -1
    if plan[at.P_IS_STAMPED]:
        return int(plan[at.P_STAMP])
    return load_64(source, position + 18)


@inlined
def _timestamp_type(source: Bytes, position: int, plan: Words) -> int:
    """Return the timestamp type: none in v0, inside a wrapper the wrapper's."""
    if load_8(source, position + 16) == 0:
        return -1
    if plan[at.P_IS_WRAPPED]:
        return 1 if plan[at.P_IS_STAMPED] else 0
    return 1 if load_8(source, position + 17) & LOG_APPEND_TIME_BIT else 0


@inlined
def _put_constants(kind: int, slab: Bytes, plan: Words, row: int) -> None:
    """Write the fields that the old formats lack, and the timestamp type."""
    fill_8(slab, plan[at.P_TIMESTAMP_TYPE], row, row + 1, kind)
    fill_32(slab, plan[at.P_LEADER_EPOCH], row, row + 1, -1)
    if plan[at.P_PRODUCER_ID] >= 0:
        store_64(slab, plan[at.P_PRODUCER_ID] + 8 * row, -1)
    if plan[at.P_PRODUCER_EPOCH] >= 0:
        store_16(slab, plan[at.P_PRODUCER_EPOCH] + 2 * row, -1)


@inlined
def _is_outside(source: Bytes, position: int, plan: Words) -> bool:
    """Return whether a plain message is outside the selection, and so not read."""
    if plan[at.P_IS_WRAPPED]:
        return False
    offset = load_64(source, position)
    is_early = load_8(source, position + 16) == 1 and (
        0 <= load_64(source, position + 18) < plan[at.P_MIN_TIMESTAMP]
    )
    return 0 <= offset < plan[at.P_START] or (offset >= 0 and is_early)


@inlined
def _fill_message(
    source: Bytes, position: int, end: int, slab: Bytes, plan: Words, state: Words
) -> int:
    """Check one message, and write its row if it is selected."""
    if not _is_sound(source, position, end, plan):
        return at.BAD
    record = _read_message(source, position, end)
    if record[0] < 0:
        return at.BAD
    offset = load_64(source, position) + int(plan[at.P_BASE])
    timestamp = _timestamp(source, position, plan)
    if not is_selected(offset, timestamp, plan):
        return at.DONE
    status = room(record, plan, state)
    if status == at.DONE:
        row = int(state[at.F_ROWS])
        put_numbers(offset, timestamp, -1, slab, plan, row)
        _put_constants(_timestamp_type(source, position, plan), slab, plan, row)
        put_content(source, record, slab, plan, state)
        state[at.F_ROWS] += 1
    return status


@kernel(INT, SOURCE, SLAB, WORDS.of(at.PLAN_WORDS), WORDS.of(at.STATE_WORDS))
def fill_messages(source: Bytes, slab: Bytes, plan: Words, state: Words) -> int:
    """Process the messages of a run until its end, a full chunk, or a bad message."""
    for word in range(at.F_RECORD, at.F_NEEDED):
        state[at.SAVED + word] = state[word]
    position = int(state[at.F_POSITION])
    last = int(plan[at.P_MESSAGES_END])
    has_room = is_inside(source, position, last) and plan[at.P_SLAB_BYTES] <= len(slab)
    status = at.DONE if has_room else at.BAD
    while status == at.DONE and position < last:
        end = _message_end(source, position, last)
        if end < 0:
            status = at.BAD
        elif not _is_outside(source, position, plan):
            status = _fill_message(source, position, end, slab, plan, state)
        if status == at.DONE:
            position = end
    state[at.F_POSITION] = position
    is_cut = status in (at.FULL, at.GROW)
    if plan[at.P_IS_WRAPPED] and (status == at.BAD or (is_cut and plan[at.P_IS_SPLIT] == 0)):
        for word in range(at.F_RECORD, at.F_NEEDED):
            state[word] = state[at.SAVED + word]
        if is_cut:
            status = at.OVERSIZE if state[at.F_ROWS] == 0 else at.FULL
    return status


@kernel(several(2), SOURCE, INT, INT)
def last_message(source: Bytes, position: int, end: int) -> tuple[int, int]:
    """Return the number of messages in a range (-1: not whole) and the last offset."""
    if not is_inside(source, position, end):
        return -1, 0
    count = 0
    offset = 0
    while position < end:
        after = _message_end(source, position, end)
        if after < 0:
            return -1, 0
        offset = load_64(source, position)
        position = after
        count += 1
    return count, offset
