"""Output of rows with verdicts, written consecutively: surviving records in place, in runs.

    words   the write position, the inputs, and the stream hash: the words W_ below

A row's records are read once, whether all of them survive or some: each is checked, and survivors
are hashed. Only with a new horizon records are written one by one, because their time deltas
change; all other bytes are copied. In a written row T_POSITION and T_DATA_END refer to the slab,
and the verdict is GONE unless a checksum has to be computed.
"""

from typing import Final

from cordwood.compaction.kernels.batch_runs import T_NUMBER, T_RETENTION, has_marks
from cordwood.compaction.kernels.key_hashes import record_hash, stream_with
from cordwood.compaction.kernels.row_verdicts import (
    COPIED,
    DATED,
    FILTERED,
    GONE,
    PLAIN,
    T_KEPT,
    bit_of,
    is_protected,
)
from cordwood.core.binary import INT64_MAX
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.common_record import any_record
from cordwood.records.kernels.header_scan import has_records
from cordwood.records.kernels.intrinsics import (
    byte_at,
    copy,
    store_big_16,
    store_big_32,
    store_big_64,
    wrapping_sum,
)
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    SLAB,
    SLABS,
    SOURCE,
    WORDS,
    Bytes,
    TwoSlabs,
    Words,
    inlined,
    kernel,
    spliced,
)
from cordwood.records.kernels.varints import put_number, size_of_number
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
)
from cordwood.records.v2_record import SMALLEST_RECORD

W_USED: Final = 0  # bytes of the slab
W_STREAM: Final = 1
W_NOW: Final = 2
W_HORIZON: Final = 3  # a new one
W_ENDED: Final = 4
W_NEEDED: Final = 5  # bytes of the slab for the row that found no room
WRITING_WORDS: Final = 6

DONE: Final = 0
NO_ROOM: Final = 1
LEFT: Final = 2  # to the plain twin
BAD: Final = 3

#: The growth of a record by a changed time delta: at most nine bytes, and one of its length.
_GROWTH = 10
_KNOWN_ATTRIBUTES = 0x7F
_NO_TIMESTAMP = -1


@inlined
def _after_number(source: Bytes, position: int) -> int:
    """Where a number ends that has been read."""
    while byte_at(source, position) > 0x7F:
        position += 1
    return position + 1


@inlined
def _put_dated(slab: Bytes, to: int, source: Bytes, position: int, stop: int, time: int) -> int:
    """Write a record with another time delta, and otherwise the bytes that it has."""
    start = _after_number(source, position)
    after = _after_number(source, start + 1)
    to = put_number(slab, to, 1 + size_of_number(time) + stop - after)
    copy(slab, to, source, start, 1)
    to = put_number(slab, to + 1, time)
    copy(slab, to, source, after, stop - after)
    return to + stop - after


@spliced
def _put_records(
    source: Bytes, row: Words, marks: TwoSlabs, words: Words, slab: Bytes
) -> tuple[int, int]:
    """Write the records that stay; returns where that ended, or -1, and the latest time."""
    latest, tombstones = marks
    position, end, last_delta = row[at.T_DATA], row[at.T_DATA_END], row[at.T_LAST_DELTA]
    base_offset, base_time, number = row[at.T_BASE_OFFSET], row[at.T_BASE_TIMESTAMP], row[T_NUMBER]
    is_stamped = row[at.T_ATTRIBUTES] & LOG_APPEND_TIME_BIT != 0
    shift = wrapping_sum(base_time, -words[W_HORIZON])
    is_dated = row[T_RETENTION] == DATED
    dead = 0 if is_protected(row, words[W_NOW]) else 1
    to, stream, newest = words[W_USED] + HEADER_SIZE, words[W_STREAM], _NO_TIMESTAMP
    lowest, begin = 0, -1
    for _ in range(row[at.T_COUNT]):
        stop, time, offset, body, _, _, _ = any_record(source, position, end)
        if stop < 0 or offset < lowest or offset > last_delta:
            return -1, 0
        if bit_of(latest, number) & ~(dead & bit_of(tombstones, number)):
            seen = row[at.T_MAX_TIMESTAMP] if is_stamped else wrapping_sum(base_time, time)
            newest = max(newest, seen)
            hashed = record_hash(source, body, stop, base_offset + offset, seen)
            stream = stream_with(stream, hashed)
            if is_dated:
                to = _put_dated(slab, to, source, position, stop, wrapping_sum(time, shift))
            elif begin < 0:
                begin = position
        elif begin >= 0:
            copy(slab, to, source, begin, position - begin)
            to, begin = to + position - begin, -1
        position, lowest, number = stop, offset + 1, number + 1
    if begin >= 0:
        copy(slab, to, source, begin, position - begin)
        to += position - begin
    words[W_STREAM] = stream
    return to if position == end else -1, newest


@inlined
def _put_header(row: Words, end: int, newest: int, words: Words, slab: Bytes) -> None:
    """Write the header of a batch that has lost records, or has a horizon; not its checksum."""
    to, attributes = words[W_USED], row[at.T_ATTRIBUTES] & _KNOWN_ATTRIBUTES
    if row[T_RETENTION] == DATED:
        attributes |= DELETE_HORIZON_BIT
        store_big_64(slab, to + 27, words[W_HORIZON])
    store_big_32(slab, to + 8, end - to - LOG_OVERHEAD)
    store_big_16(slab, to + 21, attributes)
    if attributes & LOG_APPEND_TIME_BIT == 0:
        store_big_64(slab, to + 35, newest)
    store_big_32(slab, to + 57, row[T_KEPT])


@inlined
def _is_placed(row: Words) -> bool:
    """Whether the header's numbers can be right."""
    base, last_delta = row[at.T_BASE_OFFSET], row[at.T_LAST_DELTA]
    most = (row[at.T_DATA_END] - row[at.T_DATA]) // SMALLEST_RECORD
    return bool(base >= 0 and 0 <= last_delta <= INT64_MAX - base and row[at.T_COUNT] <= most)


@spliced
def _put_row(
    source: Bytes, records: Bytes, row: Words, marks: TwoSlabs, words: Words, slab: Bytes
) -> bool:
    """Write what stays of a row; False when it is not sound."""
    to, judgement = words[W_USED], row[T_RETENTION]
    if not 0 <= row[at.T_POSITION] <= len(source) - HEADER_SIZE or not has_records(records, row):
        return False
    copy(slab, to, source, row[at.T_POSITION], HEADER_SIZE)
    if row[at.T_ATTRIBUTES] & CONTROL_BIT:
        size = row[at.T_DATA_END] - row[at.T_DATA]
        copy(slab, to + HEADER_SIZE, records, row[at.T_DATA], size)
        end = to + HEADER_SIZE + size
    else:
        if not _is_placed(row) or not has_marks(row, marks):
            return False
        end, newest = _put_records(records, row, marks, words, slab)
        if end < 0:
            return False
        if judgement != COPIED:
            _put_header(row, end, newest, words, slab)
    row[at.T_POSITION], row[at.T_DATA_END] = to, end
    row[T_RETENTION] = GONE if judgement == COPIED else FILTERED
    words[W_USED] = end
    return True


@kernel(INT, SOURCE, SOURCE, BATCH_ROWS, SLABS, WORDS.of(WRITING_WORDS), SLAB)
def write_rows(
    source: Bytes, records: Bytes, table: Words, marks: TwoSlabs, words: Words, slab: Bytes
) -> int:
    """Write the survivors of rows; return the first unprocessed row, with the status in `words`.

    Headers are in `source`, records in `records`.
    """
    words[W_ENDED] = DONE
    for place in range(len(table)):
        row = table[place]
        if row[T_RETENTION] == GONE:
            continue
        if row[T_RETENTION] == PLAIN:
            words[W_ENDED] = LEFT
            return place
        size = HEADER_SIZE + row[at.T_DATA_END] - row[at.T_DATA]
        growth = _GROWTH * row[at.T_COUNT] if row[T_RETENTION] == DATED else 0
        words[W_NEEDED] = words[W_USED] + size + growth
        if words[W_NEEDED] > len(slab):
            words[W_ENDED] = NO_ROOM
            return place
        if not _put_row(source, records, row, marks, words, slab):
            words[W_ENDED] = BAD
            return place
    return len(table)
