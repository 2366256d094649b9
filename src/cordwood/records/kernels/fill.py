"""Records of v2 batches into the columns of a chunk: checked, chosen and copied in one pass.

A batch whose rows do not all fit begins the next chunk; one that is larger than a chunk is checked
whole before it is split. So no row of an unsound batch is ever handed out.
"""

from cordwood.records.kernels import layout as at
from cordwood.records.kernels.door import (
    INT,
    SLAB,
    SOURCE,
    TABLE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)
from cordwood.records.kernels.intrinsics import store_16, store_64, wrapped
from cordwood.records.kernels.newrow import is_selected, put_content, put_numbers, room
from cordwood.records.kernels.record import R_OFFSET, R_STOP, R_TIMESTAMP, Record, read_record
from cordwood.records.kernels.rows import fill_8, fill_32

LOG_APPEND_BIT = 0x08
LOW_31 = (1 << 31) - 1


@inlined
def _fill_constants(batch: Words, slab: Bytes, plan: Words, first: int, last: int) -> None:
    """What is the same in every row of a batch."""
    log_append = 1 if batch[at.T_ATTRIBUTES] & LOG_APPEND_BIT else 0
    fill_8(slab, plan[at.P_TIMESTAMP_TYPE], first, last, log_append)
    fill_32(slab, plan[at.P_LEADER_EPOCH], first, last, batch[at.T_LEADER_EPOCH])
    if plan[at.P_PRODUCER_ID] >= 0:
        for row in range(first, last):
            store_64(slab, plan[at.P_PRODUCER_ID] + 8 * row, batch[at.T_PRODUCER_ID])
    if plan[at.P_PRODUCER_EPOCH] >= 0:
        for row in range(first, last):
            store_16(slab, plan[at.P_PRODUCER_EPOCH] + 2 * row, batch[at.T_PRODUCER_EPOCH])


@inlined
def _timestamp(batch: Words, record: Record) -> int:
    """The broker's time when it stamped the batch, else the producer's."""
    if batch[at.T_ATTRIBUTES] & LOG_APPEND_BIT:
        return int(batch[at.T_MAX_TIMESTAMP])
    return wrapped(int(batch[at.T_BASE_TIMESTAMP]) + record[R_TIMESTAMP])


@inlined
def _has_sound_offsets(batch: Words) -> bool:
    """Whether the header's offsets can be right."""
    base = int(batch[at.T_BASE_OFFSET])
    delta = int(batch[at.T_LAST_DELTA])
    return base >= 0 and delta >= 0 and wrapped(base + delta) >= 0


@inlined
def _fill_batch(source: Bytes, batch: Words, slab: Bytes, plan: Words, state: Words) -> int:
    """Read the rest of one batch, from the record that the state names."""
    if not _has_sound_offsets(batch):
        return at.BAD
    position = int(state[at.F_POSITION])
    previous = int(state[at.F_LAST_DELTA])
    wants_rows = batch[at.T_ACTION] == at.ROWS
    sequence = int(batch[at.T_BASE_SEQUENCE])
    for number in range(state[at.F_RECORD], batch[at.T_COUNT]):
        record = read_record(source, position, batch[at.T_DATA_END])
        delta = record[R_OFFSET]
        if record[R_STOP] < 0 or delta <= previous or delta > batch[at.T_LAST_DELTA]:
            return at.BAD
        offset = wrapped(int(batch[at.T_BASE_OFFSET]) + delta)
        timestamp = _timestamp(batch, record)
        if wants_rows and is_selected(offset, timestamp, plan):
            status = room(record, plan, state)
            if status != at.DONE:
                state[at.F_RECORD] = number
                state[at.F_POSITION] = position
                state[at.F_LAST_DELTA] = previous
                return status
            own = (sequence + delta) & LOW_31 if sequence >= 0 else -1
            put_numbers(offset, timestamp, own, slab, plan, state[at.F_ROWS])
            put_content(source, record, slab, plan, state)
            state[at.F_ROWS] += 1
        previous = delta
        position = record[R_STOP]
    is_whole = position == batch[at.T_DATA_END] and batch[at.T_COUNT] >= 0
    return at.DONE if is_whole else at.BAD


@inlined
def _begin(state: Words, position: int, record: int) -> None:
    """Stand before the first record of a batch."""
    state[at.F_RECORD] = record
    state[at.F_POSITION] = position
    state[at.F_LAST_DELTA] = -1


@inlined
def _try_batch(source: Bytes, batch: Words, slab: Bytes, plan: Words, state: Words) -> int:
    """Fill from one batch, or leave the chunk as it was when the batch is bad or may not be cut."""
    if state[at.F_POSITION] < 0:
        _begin(state, batch[at.T_DATA], 0)
    for word in range(at.F_RECORD, at.F_NEEDED):
        state[at.SAVED + word] = state[word]
    status = _fill_batch(source, batch, slab, plan, state)
    is_cut = status in (at.FULL, at.GROW)
    if status == at.BAD or (is_cut and plan[at.P_IS_SPLIT] == 0):
        for word in range(at.F_RECORD, at.F_NEEDED):
            state[word] = state[at.SAVED + word]
        if is_cut:
            status = at.OVERSIZE if state[at.F_ROWS] == 0 else at.FULL
    _fill_constants(batch, slab, plan, state[at.SAVED + at.F_ROWS], state[at.F_ROWS])
    return status


@kernel(INT, SOURCE, TABLE, SLAB, WORDS, WORDS)
def fill(source: Bytes, table: Words, slab: Bytes, plan: Words, state: Words) -> int:
    """Go on with the batches of a run until they are done, the chunk is full, or one is bad."""
    status = at.DONE
    while status == at.DONE and state[at.F_BATCH] < state[at.F_BATCHES]:
        batch = table[state[at.F_BATCH]]
        if batch[at.T_ACTION] != at.SKIP:
            status = _try_batch(source, batch, slab, plan, state)
        if status == at.DONE:
            state[at.F_BATCH] += 1
            state[at.F_POSITION] = -1
    return status
