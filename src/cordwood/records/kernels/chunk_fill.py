"""Records of v2 batches into the columns of a chunk: checked, selected and copied in one pass.

A batch whose rows do not all fit starts the next chunk. A batch larger than a chunk is checked as a
whole before it is split. So no row of an invalid batch is ever returned.
"""

from typing import TypeAlias

from cordwood.core.binary import INT64_MAX
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.block import BLOCK_ROWS, BLOCK_WORDS, STRETCH
from cordwood.records.kernels.block_reader import read_block
from cordwood.records.kernels.block_writer import fitting, put_contents, put_numbers, wanted
from cordwood.records.kernels.header_scan import has_records
from cordwood.records.kernels.intrinsics import store_16, store_64
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    SLAB,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
    spliced,
)
from cordwood.records.kernels.row_writer import fill_8, fill_32
from cordwood.records.record_batch import LOG_APPEND_TIME_BIT

#: The slab, the plan and the state of a chunk.
Canvas: TypeAlias = tuple[Bytes, Words, Words]


@inlined
def _fill_constants(batch: Words, slab: Bytes, plan: Words, first: int, last: int) -> None:
    """Write the values that are equal in every row of a batch."""
    log_append = 1 if batch[at.T_ATTRIBUTES] & LOG_APPEND_TIME_BIT else 0
    fill_8(slab, plan[at.P_TIMESTAMP_TYPE], first, last, log_append)
    fill_32(slab, plan[at.P_LEADER_EPOCH], first, last, batch[at.T_LEADER_EPOCH])
    if plan[at.P_PRODUCER_ID] >= 0:
        for row in range(first, last):
            store_64(slab, plan[at.P_PRODUCER_ID] + 8 * row, batch[at.T_PRODUCER_ID])
    if plan[at.P_PRODUCER_EPOCH] >= 0:
        for row in range(first, last):
            store_16(slab, plan[at.P_PRODUCER_EPOCH] + 2 * row, batch[at.T_PRODUCER_EPOCH])


@inlined
def _has_sound_offsets(batch: Words) -> bool:
    """Return whether the header's offsets are possible, without a sum that may overflow."""
    base = int(batch[at.T_BASE_OFFSET])
    return base >= 0 and 0 <= int(batch[at.T_LAST_DELTA]) <= INT64_MAX - base


@spliced
def _put_block(source: Bytes, batch: Words, block: Bytes, rows: int, canvas: Canvas) -> int:
    """Write the selected records of a block that fit."""
    slab, plan, state = canvas
    while state[at.F_IN_BLOCK] < rows:
        first, end = wanted(batch, block, (int(state[at.F_IN_BLOCK]), rows), plan)
        last = fitting(block, (first, end), plan, state)
        put_numbers(batch, block, (first, last), slab, plan, state)
        put_contents(source, block, (first, last), slab, plan, state)
        state[at.F_ROWS] += last - first
        state[at.F_IN_BLOCK] = last
        if last < end:
            return at.GROW if state[at.F_ROWS] == 0 else at.FULL
    return at.DONE


@spliced
def _fill_batch(source: Bytes, batch: Words, block: Bytes, canvas: Canvas) -> int:
    """Read the rest of one batch, from the state's record on."""
    state = canvas[2]
    if not _has_sound_offsets(batch):
        return at.BAD
    while state[at.F_RECORD] < batch[at.T_COUNT]:
        rows = min(BLOCK_ROWS, int(batch[at.T_COUNT] - state[at.F_RECORD]))
        _, position, delta = read_block(source, batch, block, rows, state)
        if position < 0:
            return at.BAD
        if batch[at.T_ACTION] == at.ROWS:
            status = _put_block(source, batch, block, rows, canvas)
            if status != at.DONE:
                return status
        state[at.F_RECORD] += rows
        state[at.F_POSITION] = position
        state[at.F_LAST_DELTA] = delta >> 1
        state[at.F_IN_BLOCK] = 0
    is_whole = state[at.F_POSITION] == batch[at.T_DATA_END] and batch[at.T_COUNT] >= 0
    return at.DONE if is_whole else at.BAD


@inlined
def _begin(state: Words, position: int, record: int) -> None:
    """Set the state to the first record of a batch."""
    state[at.F_RECORD] = record
    state[at.F_POSITION] = position
    state[at.F_LAST_DELTA] = -1
    state[at.F_IN_BLOCK] = 0


@spliced
def _try_batch(source: Bytes, batch: Words, block: Bytes, canvas: Canvas) -> int:
    """Fill from one batch, or restore the chunk if the batch is bad or may not be split."""
    slab, plan, state = canvas
    if state[at.F_POSITION] < 0:
        _begin(state, batch[at.T_DATA], 0)
    for word in range(at.F_RECORD, at.F_NEEDED):
        state[at.SAVED + word] = state[word]
    status = _fill_batch(source, batch, block, canvas)
    is_cut = status in (at.FULL, at.GROW)
    if status == at.BAD or (is_cut and plan[at.P_IS_SPLIT] == 0):
        for word in range(at.F_RECORD, at.F_NEEDED):
            state[word] = state[at.SAVED + word]
        if is_cut:
            status = at.OVERSIZE if state[at.F_ROWS] == 0 else at.FULL
    _fill_constants(batch, slab, plan, state[at.SAVED + at.F_ROWS], state[at.F_ROWS])
    return status


@kernel(
    INT,
    SOURCE,
    BATCH_ROWS,
    SLAB.of(BLOCK_WORDS * STRETCH),
    SLAB,
    WORDS.of(at.PLAN_WORDS),
    WORDS.of(at.STATE_WORDS),
)
def fill(source: Bytes, table: Words, block: Bytes, slab: Bytes, plan: Words, state: Words) -> int:
    """Process the batches of a run until its end, a full chunk, or a bad batch."""
    status = at.DONE if plan[at.P_SLAB_BYTES] <= len(slab) else at.BAD
    batches = min(state[at.F_BATCHES], len(table))
    while status == at.DONE and state[at.F_BATCH] < batches:
        batch = table[state[at.F_BATCH]]
        if batch[at.T_ACTION] != at.SKIP and not has_records(source, batch):
            status = at.BAD
        elif batch[at.T_ACTION] != at.SKIP:
            status = _try_batch(source, batch, block, (slab, plan, state))
        if status == at.DONE:
            state[at.F_BATCH] += 1
            state[at.F_POSITION] = -1
    return status
