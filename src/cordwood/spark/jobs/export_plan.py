"""What of a log goes into a table next, in which commits, by which tasks.

    splits of the log ──► those behind the table's end ──► rounds, a commit each ──► chores, a task
                          (or a refusal)                   (at most so many bytes)   and files each

A run that is killed loses the round it was in, of which nothing is to be seen; the next one asks
the table where it stands. A chore (`chores`) has splits of about a file's size together, of as many
partitions as it takes: small partitions would make small files.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from cordwood.core.errors import TableError
from cordwood.core.types import TopicPartition
from cordwood.spark.holdings import Range
from cordwood.spark.jobs.export_ledger import Held, Standing, Stretch, check_start
from cordwood.spark.options import FROM_EARLIEST, SourceOptions
from cordwood.spark.planning import Plan
from cordwood.spark.splits import Split

_ANOTHER_LOG: Final = "the log was cut off, or is another one: export it into another table"


def follow(plan: Plan, standing: Standing, *, options: SourceOptions, table: str) -> list[Split]:
    """Return what is left of the splits of a plan, in order, behind the ends of a table.

    A start that is given is where the table begins, so the same options go on; or it is where it
    ends. TableError is raised at any other, and where the log has come to end before the table.
    """
    for partition, held in standing.held.items():
        extent, wanted = plan.extents.get(partition), plan.ranges.get(partition)
        if extent is not None and extent.end < held.end:
            raise TableError(
                f"has {partition} up to offset {held.end}, and the log ends at {extent.end}",
                path=table,
                remedy=_ANOTHER_LOG,
            )
        is_given = wanted is not None and options.starting != FROM_EARLIEST
        if wanted is not None and is_given and wanted.start != held.start:
            check_start(standing, partition, start=wanted.start, table=table)
    parts = [_behind(split, standing.held.get(split.range.partition)) for split in plan.splits]
    return [split for split in parts if split.range.start < split.range.end]


def _behind(split: Split, held: Held | None) -> Split:
    """Return the part of a split that a table does not have, which may be nothing."""
    _, start, end = split.range
    if held is None or start >= held.end:
        return split
    first = min(held.end, end)
    size = split.size * (end - first) // (end - start)
    return split._replace(range=split.range._replace(start=first), size=size)


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


def stretches_of(
    splits: Sequence[Split],
    records: Mapping[Range, int],
    *,
    held: Mapping[TopicPartition, Held],
) -> list[Stretch]:
    """Return what splits add to a table; before each there may be what the log has no more."""
    found: list[Stretch] = []
    for split in splits:
        partition, start, end = split.range
        count, before = records.get(split.range, 0), found[-1] if found else None
        if before is None or before.partition != partition:
            begin = held[partition].end if partition in held else start
        elif before.end == start:
            found[-1] = before._replace(end=end, records=before.records + count)
            continue
        else:
            begin = before.end
        found.append(Stretch(partition, begin, end, count, start - begin))
    return found
