"""One more message as a row of a chunk: selection, room, and writing."""

from cordwood.records.kernels import layout as at
from cordwood.records.kernels.intrinsics import store_32, store_64
from cordwood.records.kernels.kernel_definition import Bytes, Words, inlined
from cordwood.records.kernels.row_writer import put_bytes
from cordwood.records.kernels.v2_record import R_KEY, R_KEY_SIZE, R_VALUE, R_VALUE_SIZE, Record


@inlined
def is_selected(offset: int, timestamp: int, plan: Words) -> bool:
    """Return whether a record is in both ranges."""
    is_near = int(plan[at.P_START]) <= offset <= int(plan[at.P_LAST])
    is_timely = int(plan[at.P_MIN_TIMESTAMP]) <= timestamp <= int(plan[at.P_MAX_TIMESTAMP])
    return is_near and is_timely


@inlined
def room(record: Record, plan: Words, state: Words) -> int:
    """Return DONE when one more row fits; GROW when it would not fit an empty chunk either."""
    cost = 0
    if plan[at.P_KEY] >= 0:
        cost += max(record[R_KEY_SIZE], 0)
    if plan[at.P_VALUE] >= 0:
        cost += max(record[R_VALUE_SIZE], 0)
    used = state[at.F_BYTES] + cost
    if state[at.F_ROWS] < plan[at.P_MAX_ROWS] and used <= plan[at.P_MAX_BYTES]:
        state[at.F_BYTES] = used
        return at.DONE
    state[at.F_NEEDED] = cost
    return at.GROW if state[at.F_ROWS] == 0 else at.FULL


@inlined
def put_content(source: Bytes, record: Record, slab: Bytes, plan: Words, state: Words) -> None:
    """Write a message's key and value, and no headers."""
    if plan[at.P_KEY] >= 0:
        key = record[R_KEY], record[R_KEY_SIZE], at.P_KEY, at.F_KEY_BYTES, at.F_KEY_NULLS
        put_bytes(source, key, slab, plan, state)
    if plan[at.P_VALUE] >= 0:
        size = record[R_VALUE_SIZE]
        value = record[R_VALUE], size, at.P_VALUE, at.F_VALUE_BYTES, at.F_VALUE_NULLS
        put_bytes(source, value, slab, plan, state)
    if plan[at.P_HEADERS] >= 0:
        store_32(slab, plan[at.P_HEADERS] + 4 * state[at.F_ROWS] + 4, state[at.F_HEADERS])


@inlined
def put_numbers(
    offset: int, timestamp: int, sequence: int, slab: Bytes, plan: Words, row: int
) -> None:
    """Write the numbers that differ between records."""
    if plan[at.P_OFFSET] >= 0:
        store_64(slab, plan[at.P_OFFSET] + 8 * row, offset)
    if plan[at.P_TIMESTAMP] >= 0:
        store_64(slab, plan[at.P_TIMESTAMP] + 8 * row, timestamp)
    if plan[at.P_SEQUENCE] >= 0:
        store_32(slab, plan[at.P_SEQUENCE] + 4 * row, sequence)
