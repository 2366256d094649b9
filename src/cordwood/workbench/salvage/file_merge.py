"""Merge of several files with overlapping offsets into one log.

Files are ordered by rank: segments under their own names first, files with other names last. Of two
batches with the same offsets, the one from the lower rank is kept, and a whole batch wins over a
doubtful one. Duplicates are counted, contradicting batches are reported.

Runs that overlap no other run are taken as they are. The batches of the others are read again, in
the order of offsets, so time and memory do not depend on how many files there are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from cordwood.workbench.salvage.batch_run import SalvagedRun, SourceWindows, batches_of, runs_of
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust


class MergedLog(NamedTuple):
    """The runs of a log in order, without `contradicting` batches and `duplicates`.

    `repeated` are files and positions of the duplicates among strays, `displaced` are strays at
    whose offsets other whole batches are.
    """

    runs: list[SalvagedRun]
    contradicting: list[SalvagedBatch]
    duplicates: int
    repeated: set[tuple[str, int]]
    displaced: list[SalvagedBatch]


class _Ranked(NamedTuple):
    """A batch, and the place of its file in the order of ranks."""

    rank: int
    batch: SalvagedBatch


def merge_runs(
    files: Sequence[Sequence[SalvagedRun]],
    windows: SourceWindows,
    *,
    cleaned_to: int = 0,
    foreign: Collection[str] = (),
) -> MergedLog:
    """Return the log of several files; they are in the order of ranks.

    `foreign` are paths of files that may be from another replica.
    """
    log = MergedLog([], [], 0, set(), [])
    ranked = [(run, rank) for rank, runs in enumerate(files) for run in runs]
    for group in _overlapping_runs(sorted(ranked, key=lambda each: (each[0].first, each[1]))):
        if len(group) == 1:
            log.runs.append(group[0][0])
        else:
            log = _merge_group(group, windows, log, cleaned_to=cleaned_to, foreign=foreign)
    return log


def _overlapping_runs(
    runs: list[tuple[SalvagedRun, int]],
) -> Iterator[list[tuple[SalvagedRun, int]]]:
    """Yield groups of runs, each of which shares offsets with another one of its group."""
    group: list[tuple[SalvagedRun, int]] = []
    last = -1
    for run, rank in runs:
        if group and run.first > last:
            yield group
            group = []
        group.append((run, rank))
        last = run.last if len(group) == 1 else max(last, run.last)
    if group:
        yield group


def _merge_group(
    group: list[tuple[SalvagedRun, int]],
    windows: SourceWindows,
    log: MergedLog,
    *,
    cleaned_to: int,
    foreign: Collection[str],
) -> MergedLog:
    """Return the log with the batches of overlapping runs."""
    contradicting, duplicates = log.contradicting, log.duplicates

    def accepted() -> Iterator[SalvagedBatch]:
        nonlocal duplicates
        for rivals in _rivals(_in_order(group, windows)):
            kept, left_out, same = _choose(rivals)
            duplicates += len(same)
            log.repeated.update(
                (each.file, each.header.position) for each in same if each.trust is Trust.STRAY
            )
            contradicting.extend(each for each in left_out if not each.is_doubtful)
            if not any(each.is_doubtful for each in kept):
                log.displaced.extend(each for each in left_out if each.trust is Trust.STRAY)
            yield from kept

    log.runs.extend(runs_of(accepted(), cleaned_to=cleaned_to, foreign=foreign))
    return log._replace(duplicates=duplicates)


def _in_order(group: list[tuple[SalvagedRun, int]], windows: SourceWindows) -> Iterator[_Ranked]:
    """Yield the batches of sorted runs in the order of offsets; a run is read when it is due."""
    due: list[tuple[int, int, int, SalvagedBatch, Iterator[SalvagedBatch]]] = []
    numbers = count()
    waiting = iter([*group, None])
    run = next(waiting)
    while due or run is not None:
        while run is not None and (not due or run[0].first <= due[0][0]):
            batches = batches_of(run[0], windows)
            first = next(batches)
            heappush(due, (first.offset, run[1], next(numbers), first, batches))
            run = next(waiting)
        _, rank, _, batch, batches = heappop(due)
        yield _Ranked(rank, batch)
        after = next(batches, None)
        if after is not None:
            heappush(due, (after.offset, rank, next(numbers), after, batches))


def _rivals(batches: Iterator[_Ranked]) -> Iterator[list[_Ranked]]:
    """Yield groups of batches that share offsets."""
    group: list[_Ranked] = []
    last = -1
    for each in batches:
        if group and each.batch.offset > last:
            yield group
            group = []
        group.append(each)
        last = each.batch.last_offset if len(group) == 1 else max(last, each.batch.last_offset)
    if group:
        yield group


def _choose(
    rivals: list[_Ranked],
) -> tuple[list[SalvagedBatch], list[SalvagedBatch], list[SalvagedBatch]]:
    """Return the batches to keep, those that contradict them, and the duplicates."""
    kept: list[SalvagedBatch] = []
    contradicting: list[SalvagedBatch] = []
    duplicates: list[SalvagedBatch] = []
    rivals.sort(key=_preference)
    for _, batch in rivals:
        first = bisect_left(kept, batch.offset, key=_last_of)
        stop = bisect_right(kept, batch.last_offset, key=_offset_of)
        if first == stop:
            kept.insert(first, batch)
        elif _is_same(kept[first], batch):
            duplicates.append(batch)
        else:
            contradicting.append(batch)
    return kept, contradicting, duplicates


def _preference(rival: _Ranked) -> tuple[int, int, int]:
    """Return the order of choice: doubtful batches last, then by rank."""
    batch = rival.batch
    return -batch.trust if batch.is_doubtful else -Trust.LED, rival.rank, batch.offset


def _is_same(one: SalvagedBatch, other: SalvagedBatch) -> bool:
    return (one.offset, one.last_offset, one.header.crc, one.header.size) == (
        other.offset,
        other.last_offset,
        other.header.crc,
        other.header.size,
    )


def _offset_of(batch: SalvagedBatch) -> int:
    return batch.offset


def _last_of(batch: SalvagedBatch) -> int:
    return batch.last_offset
