"""Verdicts on the rows of a run, by marks and retentions alone: no record is read.

    T_RETENTION   receives one of the verdicts below
    T_KEPT   receives the number of surviving records, in place of the unused leader epoch

Rare rows go to the plain twin: headers without records, markers whose horizon is set. The twin
counts its rows; all others are counted here, except for written bytes.
"""

from typing import Final

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.kernels.batch_runs import CONTROL, T_NUMBER, T_RETENTION, has_marks
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.intrinsics import byte_at
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    NOTHING,
    SLABS,
    WORDS,
    Bytes,
    TwoSlabs,
    Words,
    inlined,
    kernel,
)
from cordwood.records.record_batch import DELETE_HORIZON_BIT

T_KEPT: Final = at.T_LEADER_EPOCH

# -- judgements
GONE: Final = at.SKIP
COPIED: Final = 1
FILTERED: Final = 2
DATED: Final = 3  # filtered, and given a horizon
PLAIN: Final = 4

#: The counters, by the names of `Counts`.
NAMES: Final = (
    "batches_read",
    "bytes_read",
    "batches_kept",
    "batches_copied",
    "records_read",
    "records_kept",
    "superseded",
    "tombstones_kept",
    "tombstones_dropped",
    "aborted",
    "markers_kept",
    "markers_dropped",
)
COUNT_WORDS: Final = len(NAMES)
C_BATCHES_READ, C_BYTES_READ, C_BATCHES_KEPT, C_BATCHES_COPIED = range(4)
C_RECORDS_READ, C_RECORDS_KEPT, C_SUPERSEDED = range(4, 7)
C_TOMBSTONES_KEPT, C_TOMBSTONES_DROPPED = range(7, 9)
C_ABORTED, C_MARKERS_KEPT, C_MARKERS_DROPPED = range(9, 12)

DELETE: Final = int(BatchRetention.DELETE)
RETAIN_EMPTY: Final = int(BatchRetention.RETAIN_EMPTY)
NEEDS_HORIZON: Final = int(BatchRetention.NEEDS_HORIZON)


@inlined
def bit_of(bits: Bytes, number: int) -> int:
    """The bit of a record; see `record_marks`."""
    return byte_at(bits, number >> 3) >> (number & 7) & 1


@inlined
def is_protected(row: Words, now_ms: int) -> bool:
    """Whether tombstones stay in a batch; the twin of `plan.delete_horizon.horizon_state`."""
    has_horizon = row[at.T_ATTRIBUTES] & DELETE_HORIZON_BIT != 0
    return bool(not has_horizon or now_ms < row[at.T_BASE_TIMESTAMP])


@inlined
def _of_marker(retention: int) -> int:
    """Return the verdict on a control batch."""
    if retention & DELETE:
        return PLAIN if retention & RETAIN_EMPTY else GONE
    return PLAIN if retention & NEEDS_HORIZON else COPIED


@inlined
def _of_data(row: Words, latest: int, tombstones: int, now_ms: int) -> int:
    """Return the verdict on a batch by its marked records; write the number of survivors."""
    retention = row[T_RETENTION]
    stays = is_protected(row, now_ms)
    kept = latest if stays else latest - tombstones
    row[T_KEPT] = kept
    if kept == 0:
        return PLAIN if retention & RETAIN_EMPTY else GONE
    if stays and tombstones > 0 and row[at.T_ATTRIBUTES] & DELETE_HORIZON_BIT == 0:
        return DATED
    return COPIED if kept == row[at.T_COUNT] else FILTERED


@inlined
def _count_data(row: Words, latest: int, tombstones: int, counts: Words) -> None:
    """Count the records of a batch."""
    kept = row[T_KEPT]
    counts[C_RECORDS_READ] += row[at.T_COUNT]
    counts[C_RECORDS_KEPT] += kept
    if row[T_RETENTION] & DELETE:
        counts[C_ABORTED] += row[at.T_COUNT]
        return
    counts[C_SUPERSEDED] += row[at.T_COUNT] - latest
    if latest - kept == 0:
        counts[C_TOMBSTONES_KEPT] += tombstones
    else:
        counts[C_TOMBSTONES_DROPPED] += tombstones


@inlined
def _count(row: Words, judgement: int, counts: Words) -> None:
    """Count the batch itself."""
    counts[C_BATCHES_READ] += 1
    counts[C_BYTES_READ] += row[at.T_SIZE]
    counts[C_BATCHES_KEPT] += judgement != GONE
    counts[C_BATCHES_COPIED] += judgement == COPIED
    if row[T_RETENTION] & CONTROL and judgement == COPIED:
        counts[C_MARKERS_KEPT] += row[at.T_COUNT]
    elif row[T_RETENTION] & CONTROL:
        counts[C_MARKERS_DROPPED] += row[at.T_COUNT]


@kernel(NOTHING, BATCH_ROWS, SLABS, INT, WORDS.of(COUNT_WORDS))
def judge_rows(table: Words, marks: TwoSlabs, now_ms: int, counts: Words) -> None:
    """Judge the rows of a run."""
    latest, tombstones = marks
    for place in range(len(table)):
        row = table[place]
        marked, dead = 0, 0
        if row[T_RETENTION] & (CONTROL | DELETE) == 0 and has_marks(row, marks):
            for number in range(row[T_NUMBER], row[T_NUMBER] + row[at.T_COUNT]):
                is_latest = bit_of(latest, number)
                marked += is_latest
                dead += is_latest & bit_of(tombstones, number)
        if row[T_RETENTION] & CONTROL:
            judgement = _of_marker(row[T_RETENTION])
        elif not has_marks(row, marks):
            judgement = PLAIN
        else:
            judgement = _of_data(row, marked, dead, now_ms)
            if judgement != PLAIN:
                _count_data(row, marked, dead, counts)
        if judgement != PLAIN:
            _count(row, judgement, counts)
        row[T_RETENTION] = judgement
