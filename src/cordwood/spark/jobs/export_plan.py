"""What of a log goes into a table next, in which commits, by which tasks.

    splits of the log ──► those behind the table's end ──► rounds, a commit each ──► chores, a task
                          (or a refusal)                   (at most so many bytes)   and files each

A run that is killed loses the round it was in, of which nothing is to be seen; the next one asks
the table where it stands. A chore has splits of about a file's size together, of as many partitions
as it takes: small partitions would make small files.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from cordwood.core.errors import TableError
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.export_ledger import Held, Standing, Stretch, check_start
from cordwood.spark.options import FROM_EARLIEST, TO_LATEST, SourceOptions
from cordwood.spark.splits import Split

_ANOTHER_LOG: Final = "the log was cut off, or is another one: export it into another table"


def follow(
    splits: Sequence[Split], standing: Standing, *, options: SourceOptions, table: str
) -> list[Split]:
    """Return what is left of splits, in order, behind the ends of a table.

    A start that is given is where the table begins, so the same options go on; or it is where it
    ends. TableError is raised at any other, and where the log has come to end before the table.
    """
    left: list[Split] = []
    for partition, group in groupby(splits, key=lambda split: split.range.partition):
        parts = list(group)
        held = standing.held.get(partition)
        if held is None:
            left += parts
            continue
        first = parts[0].range.start
        if options.starting != FROM_EARLIEST and first != held.start:
            check_start(standing, partition, start=first, table=table)
        if options.ending == TO_LATEST and parts[-1].range.end < held.end:
            raise TableError(
                f"has {partition} up to offset {held.end}, and the log ends at "
                f"{parts[-1].range.end}",
                path=table,
                remedy=_ANOTHER_LOG,
            )
        left += [_behind(split, held) for split in parts if split.range.end > held.end]
    return left


def _behind(split: Split, held: Held) -> Split:
    """Return the part of a split that a table does not have."""
    _, start, end = split.range
    if start >= held.end:
        return split
    size = split.size * (end - held.end) // (end - start)
    return split._replace(range=split.range._replace(start=held.end), size=size)


def refuse_lost(splits: Sequence[Split], standing: Standing, *, table: str) -> None:
    """Refuse to go on where retention has deleted what the table does not have yet."""
    for stretch in stretches_of(splits, {}, held=standing.held):
        if stretch.lost:
            raise TableError(
                f"lacks offsets {stretch.start} to {stretch.start + stretch.lost - 1} of "
                f"{stretch.partition}, which the log has no more",
                path=table,
                remedy="export from a place that still has them, or say gap=record to go on",
            )


def rounds(splits: Sequence[Split], commit_bytes: int) -> Iterator[list[Split]]:
    """Yield the splits of each commit, of at most so many bytes or of one split."""
    yield from _gathered(splits, commit_bytes)


def chores(splits: Sequence[Split], file_bytes: int) -> list[tuple[Split, ...]]:
    """Return the splits of each task, of at most so many bytes or one split; the largest first."""
    found = map(tuple, _gathered(splits, file_bytes))
    return sorted(found, key=bytes_of, reverse=True)


def bytes_of(splits: Sequence[Split]) -> int:
    """Return how much there is to read, about."""
    return sum(split.size for split in splits)


def stretches_of(
    splits: Sequence[Split],
    records: Mapping[TopicPartition, int],
    *,
    held: Mapping[TopicPartition, Held],
) -> list[Stretch]:
    """Return what splits add to a table; behind its end there may be what the log has no more."""
    found = []
    for partition, group in groupby(splits, key=lambda split: split.range.partition):
        parts = list(group)
        first = parts[0].range.start
        start = held[partition].end if partition in held else first
        count = records.get(partition, 0)
        found.append(Stretch(partition, start, parts[-1].range.end, count, first - start))
    return found


def _gathered(splits: Sequence[Split], most: int) -> Iterator[list[Split]]:
    """Yield runs of splits that have at most so many bytes, or are one."""
    run: list[Split] = []
    size = 0
    for split in splits:
        if run and size + split.size > most:
            yield run
            run, size = [], 0
        run.append(split)
        size += split.size
    if run:
        yield run
