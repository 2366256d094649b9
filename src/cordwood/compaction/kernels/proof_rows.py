"""Proof of ordinary batches, many at a time: output rows are learnt, input rows compared with them.

    words    those of a single batch (`proof_batches`), then the kernels' positions in the rows
    lasts    for each producer whose last batch must survive: its id, and that batch's last offset

An ordinary batch is uncompressed, no marker, and part of no transaction. Its copy is missing, or
has the same header except for the record count and the max timestamp. A copy has at least one
record, and fewer ones or equal bytes. A kernel stops before any other batch, without having
processed it: the plain verifier takes it. A faulty batch may have been processed.
"""

from typing import Final

from cordwood.compaction.kernels.proof_batches import (
    DONE,
    FULL,
    NOTE_WIDTH,
    PROOF_WORDS,
    V_BASE_OFFSET,
    V_BASE_TIME,
    V_COUNT,
    V_DONE,
    V_END,
    V_IS_ABORTED,
    V_IS_EXPIRED,
    V_IS_STAMPED,
    V_KEPT_TOMBSTONES,
    V_LAST_DELTA,
    V_LATEST,
    V_LEFT_BASE_TIME,
    V_LEFT_COUNT,
    V_LEFT_END,
    V_LEFT_POSITION,
    V_LEFT_RECORD,
    V_LOWEST,
    V_NOTED,
    V_POSITION,
    V_RECORD,
    V_STAMP,
    WRONG,
    judge_records,
    learn_records,
)
from cordwood.compaction.kernels.proof_keys import has_same_bytes
from cordwood.core.binary import INT64_MAX
from cordwood.core.types import NO_TIMESTAMP
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.header_scan import has_batch
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
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
from cordwood.records.record_batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
)

# -- where a kernel stands
V_ROW: Final = PROOF_WORDS
V_LEFT_ROW: Final = PROOF_WORDS + 1
V_IS_BEGUN: Final = PROOF_WORDS + 2  # with the row: it goes on where there was no room
V_COPIED: Final = PROOF_WORDS + 3
# -- what counts for all rows
V_LOWEST_OFFSET: Final = PROOF_WORDS + 4  # of what is left: where the next batch may begin ...
V_HIGHEST_OFFSET: Final = PROOF_WORDS + 5  # ... and where it may end
V_PASS_END: Final = PROOF_WORDS + 6
V_NOW: Final = PROOF_WORDS + 7
V_TIME_PASSES: Final = PROOF_WORDS + 8  # horizons are set, and come
V_MAY_MATCH: Final = PROOF_WORDS + 9  # what is left lies where it belongs
V_IS_OVER: Final = PROOF_WORDS + 10  # nothing is left behind the rows
ROWS_WORDS: Final = PROOF_WORDS + 11

#: Statuses of a kernel in addition to those for a single batch.
ANOTHER: Final = 3  # the next batch is not ordinary
MORE: Final = 4  # more output rows are needed

_NONE = -1
_UNKNOWN = -2
_OTHER = -3


@inlined
def _is_placed(row: Words) -> bool:
    """Whether the header's offsets can be right."""
    base, last_delta = row[at.T_BASE_OFFSET], row[at.T_LAST_DELTA]
    return bool(base >= 0 and 0 <= last_delta <= INT64_MAX - base)


@inlined
def _stand(row: Words, words: Words) -> None:
    """Begin with a batch."""
    words[V_RECORD], words[V_POSITION], words[V_LOWEST] = 0, row[at.T_DATA], 0
    words[V_NOTED] = words[V_DONE] = 0
    words[V_COUNT], words[V_END] = row[at.T_COUNT], row[at.T_DATA_END]
    words[V_BASE_OFFSET], words[V_LAST_DELTA] = row[at.T_BASE_OFFSET], row[at.T_LAST_DELTA]
    words[V_BASE_TIME] = row[at.T_BASE_TIMESTAMP]
    words[V_IS_STAMPED] = row[at.T_ATTRIBUTES] & LOG_APPEND_TIME_BIT
    words[V_STAMP] = row[at.T_MAX_TIMESTAMP]


@kernel(
    INT,
    SOURCE,
    BATCH_ROWS,
    WORDS.of(ROWS_WORDS),
    TABLE.of(NOTE_WIDTH),
    WORDS.of(1),
    SLAB,
)
def learn_rows(
    source: Bytes, table: Words, words: Words, notes: Words, slots: Words, arena: Bytes
) -> int:
    """Learn output rows, from the row in the words on; return the status."""
    while words[V_ROW] < len(table):
        row = table[words[V_ROW]]
        if words[V_IS_BEGUN] == 0:
            base, highest = row[at.T_BASE_OFFSET], words[V_HIGHEST_OFFSET]
            if row[at.T_ATTRIBUTES] & CONTROL_BIT or not _is_placed(row):
                return ANOTHER
            if base < words[V_LOWEST_OFFSET] or base + row[at.T_LAST_DELTA] > highest:
                return ANOTHER
            _stand(row, words)
        ended = learn_records(source, words, notes, slots, arena)
        words[V_IS_BEGUN] = ended == FULL
        if ended != DONE:
            return int(ended)
        words[V_LOWEST_OFFSET] = row[at.T_BASE_OFFSET] + row[at.T_LAST_DELTA] + 1
        words[V_ROW] += 1
    return DONE


@inlined
def _last_of(producer: int, lasts: Words) -> int:
    """The last offset of the batch of a producer that has to stay; none is beyond all."""
    low, high = 0, len(lasts)
    while low < high:
        middle = (low + high) >> 1
        if lasts[middle, 0] < producer:
            low = middle + 1
        else:
            high = middle
    is_known = low < len(lasts) and lasts[low, 0] == producer
    return int(lasts[low, 1]) if is_known else INT64_MAX


@inlined
def _left_row(last: int, left_table: Words, words: Words) -> int:
    """The row of what is left of a batch; or that it is none, unknown, or for the plain judge."""
    row = words[V_LEFT_ROW]
    if row >= len(left_table):
        return _NONE if words[V_IS_OVER] else _UNKNOWN
    left_last = left_table[row, at.T_BASE_OFFSET] + left_table[row, at.T_LAST_DELTA]
    if left_last > last:
        return _NONE
    return int(row) if left_last == last and words[V_MAY_MATCH] else _OTHER


@inlined
def _is_rest(source: Bytes, row: Words, left: Bytes, left_row: Words) -> bool:
    """Whether a batch may be what is left of another, by its header; whole, by its bytes."""
    for word in (
        at.T_BASE_OFFSET, at.T_LEADER_EPOCH, at.T_ATTRIBUTES, at.T_LAST_DELTA,
        at.T_BASE_TIMESTAMP, at.T_PRODUCER_ID, at.T_PRODUCER_EPOCH, at.T_BASE_SEQUENCE,
    ):  # fmt: skip
        if row[word] != left_row[word]:
            return False
    records, size = left_row[at.T_COUNT], row[at.T_SIZE]
    if records <= 0 or records > row[at.T_COUNT]:
        return False
    if records < row[at.T_COUNT]:
        return True
    if not has_batch(source, row) or not has_batch(left, left_row):
        return False
    return left_row[at.T_SIZE] == size and has_same_bytes(
        source, row[at.T_POSITION], left, left_row[at.T_POSITION], size
    )


@inlined
def _begin(
    source: Bytes, row: Words, left: Bytes, left_table: Words, lasts: Words, words: Words
) -> int:
    """Stand in front of a batch and what is left of it; DONE if it is ordinary."""
    if row[at.T_ATTRIBUTES] & (CONTROL_BIT | TRANSACTIONAL_BIT) or not _is_placed(row):
        return ANOTHER
    last = row[at.T_BASE_OFFSET] + row[at.T_LAST_DELTA]
    must_stay = _last_of(row[at.T_PRODUCER_ID], lasts)
    left_row = _left_row(last, left_table, words)
    if left_row == _UNKNOWN:
        return MORE
    if last > must_stay or left_row == _OTHER:
        return ANOTHER
    words[V_LEFT_COUNT] = words[V_LEFT_END] = words[V_LEFT_POSITION] = 0
    words[V_LEFT_BASE_TIME] = row[at.T_BASE_TIMESTAMP]
    if left_row == _NONE:
        if last == must_stay or last + 1 == words[V_PASS_END]:
            return ANOTHER
    else:
        rest = left_table[left_row]
        if not _is_rest(source, row, left, rest):
            return ANOTHER
        words[V_LEFT_COUNT] = rest[at.T_COUNT]
        words[V_LEFT_POSITION], words[V_LEFT_END] = rest[at.T_DATA], rest[at.T_DATA_END]
    _stand(row, words)
    has_horizon = row[at.T_ATTRIBUTES] & DELETE_HORIZON_BIT
    has_come = has_horizon != 0 and row[at.T_BASE_TIMESTAMP] <= words[V_NOW]
    words[V_IS_EXPIRED] = has_come and words[V_TIME_PASSES] != 0
    words[V_LEFT_RECORD] = words[V_KEPT_TOMBSTONES] = words[V_IS_ABORTED] = 0
    words[V_LATEST] = NO_TIMESTAMP
    return DONE


@inlined
def _is_dated(row: Words, rest: Words, words: Words) -> bool:
    """Whether what is left has the latest time of its records, and no horizon that it lacks."""
    has_horizon = row[at.T_ATTRIBUTES] & DELETE_HORIZON_BIT != 0
    if words[V_KEPT_TOMBSTONES] > 0 and words[V_TIME_PASSES] and not has_horizon:
        return False
    if rest[at.T_COUNT] == row[at.T_COUNT]:
        return True
    latest = words[V_STAMP] if words[V_IS_STAMPED] else words[V_LATEST]
    return bool(rest[at.T_MAX_TIMESTAMP] == latest)


@kernel(
    INT,
    SOURCE,
    BATCH_ROWS,
    SOURCE,
    BATCH_ROWS,
    TABLE.of(2),
    WORDS.of(ROWS_WORDS),
    TABLE.of(NOTE_WIDTH),
    WORDS.of(1),
    SLAB,
)
def judge_rows(  # noqa: PLR0913, PLR0917  # a kernel takes what it needs in order
    source: Bytes, table: Words, left: Bytes, left_table: Words, lasts: Words,
    words: Words, notes: Words, slots: Words, arena: Bytes,
) -> int:  # fmt: skip
    """Compare input rows with output rows; return the status."""
    while words[V_ROW] < len(table):
        row = table[words[V_ROW]]
        if words[V_IS_BEGUN] == 0:
            begun = _begin(source, row, left, left_table, lasts, words)
            if begun != DONE:
                return int(begun)
        ended = judge_records(source, left, words, notes, slots, arena)
        words[V_IS_BEGUN] = ended == FULL
        if ended != DONE:
            return int(ended)
        if words[V_LEFT_COUNT] > 0:
            rest = left_table[words[V_LEFT_ROW]]
            if not _is_dated(row, rest, words):
                return WRONG
            words[V_COPIED] += rest[at.T_COUNT] == row[at.T_COUNT]
            words[V_LEFT_ROW] += 1
        words[V_ROW] += 1
    return DONE
