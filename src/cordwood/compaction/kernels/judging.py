"""What becomes of each row of a run, by marks and fates alone: no record is looked at.

    T_FATE   becomes one of the judgements below
    T_KEPT   how many records stay; takes the leader epoch's place, which nobody needs any more

What is rare is left to the plain twin: headers that stay alone, markers whose time begins to run.
It counts what it does; all else is counted here, but for the bytes that are written.
"""

from typing import Final

from cordwood.compaction.fates import Fate
from cordwood.compaction.kernels.runs import CONTROL, T_FATE, T_NUMBER
from cordwood.records.batch import DELETE_HORIZON_BIT
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.door import (
    INT,
    NOTHING,
    SLABS,
    TABLE,
    WORDS,
    Bytes,
    TwoSlabs,
    Words,
    inlined,
    kernel,
)
from cordwood.records.kernels.intrinsics import byte_at

T_KEPT: Final = at.T_LEADER_EPOCH

# -- judgements
GONE: Final = at.SKIP
COPIED: Final = 1
FILTERED: Final = 2
DATED: Final = 3  # filtered, and given a horizon
PLAIN: Final = 4

#: What is counted here, by the names of `Counts`.
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

DROPPED: Final = int(Fate.DROPPED)
KEPT_IF_EMPTY: Final = int(Fate.KEPT_IF_EMPTY)
NEEDS_HORIZON: Final = int(Fate.NEEDS_HORIZON)


@inlined
def bit_of(bits: Bytes, number: int) -> int:
    """The bit of a record; see `marks`."""
    return byte_at(bits, number >> 3) >> (number & 7) & 1


@inlined
def is_protected(row: Words, now_ms: int) -> bool:
    """Whether tombstones stay in a batch."""
    has_horizon = row[at.T_ATTRIBUTES] & DELETE_HORIZON_BIT != 0
    return bool(not has_horizon or now_ms < row[at.T_BASE_TIMESTAMP])


@inlined
def _of_marker(fate: int) -> int:
    """What becomes of a control batch."""
    if fate & DROPPED:
        return PLAIN if fate & KEPT_IF_EMPTY else GONE
    return PLAIN if fate & NEEDS_HORIZON else COPIED


@inlined
def _of_data(row: Words, latest: int, tombstones: int, now_ms: int) -> int:
    """What becomes of a batch by how many of its records are marked; writes how many stay."""
    fate = row[T_FATE]
    stays = is_protected(row, now_ms)
    kept = latest if stays else latest - tombstones
    row[T_KEPT] = kept
    if kept == 0:
        return PLAIN if fate & KEPT_IF_EMPTY else GONE
    if stays and tombstones > 0 and row[at.T_ATTRIBUTES] & DELETE_HORIZON_BIT == 0:
        return DATED
    return COPIED if kept == row[at.T_COUNT] else FILTERED


@inlined
def _count_data(row: Words, latest: int, tombstones: int, counts: Words) -> None:
    """Count the records of a batch."""
    kept = row[T_KEPT]
    counts[C_RECORDS_READ] += row[at.T_COUNT]
    counts[C_RECORDS_KEPT] += kept
    if row[T_FATE] & DROPPED:
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
    if row[T_FATE] & CONTROL and judgement == COPIED:
        counts[C_MARKERS_KEPT] += row[at.T_COUNT]
    elif row[T_FATE] & CONTROL:
        counts[C_MARKERS_DROPPED] += row[at.T_COUNT]


@kernel(NOTHING, TABLE, SLABS, INT, WORDS)
def judge_rows(table: Words, marks: TwoSlabs, now_ms: int, counts: Words) -> None:
    """Judge the rows of a run."""
    latest, tombstones = marks
    for place in range(len(table)):
        row = table[place]
        marked, dead = 0, 0
        if row[T_FATE] & (CONTROL | DROPPED) == 0:
            for number in range(row[T_NUMBER], row[T_NUMBER] + row[at.T_COUNT]):
                is_latest = bit_of(latest, number)
                marked += is_latest
                dead += is_latest & bit_of(tombstones, number)
        if row[T_FATE] & CONTROL:
            judgement = _of_marker(row[T_FATE])
        else:
            judgement = _of_data(row, marked, dead, now_ms)
            if judgement != PLAIN:
                _count_data(row, marked, dead, counts)
        if judgement != PLAIN:
            _count(row, judgement, counts)
        row[T_FATE] = judgement
