"""Plan of an export: the splits after the table's end, in commits and tasks.

    splits of the log ──► splits after the table's end ──► one round per commit ──► tasks, with
                          (or an error)                    (`commitBytes`)          files each

A killed run loses its current round, which no reader sees; the next run starts from the table's
state. A task has splits of about a file's size together (`pack_tasks`), of several partitions if
necessary, because small partitions would produce small files.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from cordwood.core.errors import TableError
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.tables.table_ledger import (
    CommitRange,
    ExportedOffsets,
    TableState,
    check_start,
)
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.source_options import FROM_EARLIEST, SourceOptions
from cordwood.spark.source.split_planning import ReadPlan
from cordwood.spark.source.splits import Split

_ANOTHER_LOG: Final = "the log was truncated, or is another log; export into another table"


def splits_after_end(
    plan: ReadPlan, state: TableState, *, options: SourceOptions, table: str
) -> list[Split]:
    """Return the parts of a plan's splits after the ends of a table, in order.

    A starting option must be the start of the table, so that the same options resume an export, or
    its end. Raise TableError for any other start, and if the log ends before the table.
    """
    for partition, exported in state.exported.items():
        extent, wanted = plan.extents.get(partition), plan.ranges.get(partition)
        if extent is not None and extent.end < exported.end:
            raise TableError(
                f"{partition}: table ends at offset {exported.end}, after the log ({extent.end})",
                path=table,
                remedy=_ANOTHER_LOG,
            )
        is_given = wanted is not None and options.starting != FROM_EARLIEST
        if wanted is not None and is_given and wanted.start != exported.start:
            check_start(state, partition, start=wanted.start, table=table)
    parts = [_part_after(split, state.exported.get(split.range.partition)) for split in plan.splits]
    return [split for split in parts if split.range.start < split.range.end]


def _part_after(split: Split, exported: ExportedOffsets | None) -> Split:
    """Return the part of a split that a table does not have, which may be empty."""
    _, start, end = split.range
    if exported is None or start >= exported.end:
        return split
    first = min(exported.end, end)
    size = split.size * (end - first) // (end - start)
    return split._replace(range=split.range._replace(start=first), size=size)


def check_lost(splits: Sequence[Split], state: TableState, *, table: str) -> None:
    """Reject an export if retention has deleted offsets that the table lacks."""
    for each in commit_ranges(splits, {}, exported=state.exported):
        if each.lost:
            raise TableError(
                f"lacks offsets {each.start} to {each.start + each.lost - 1} of "
                f"{each.partition}, which were deleted from the log",
                path=table,
                remedy="export from a source that still has them, or set gap=record",
            )


def commit_ranges(
    splits: Sequence[Split],
    records: Mapping[OffsetRange, int],
    *,
    exported: Mapping[TopicPartition, ExportedOffsets],
) -> list[CommitRange]:
    """Return the ranges that splits add; offsets lost before a split belong to its range."""
    found: list[CommitRange] = []
    for split in splits:
        partition, start, end = split.range
        count, before = records.get(split.range, 0), found[-1] if found else None
        if before is None or before.partition != partition:
            begin = exported[partition].end if partition in exported else start
        elif before.end == start:
            found[-1] = before._replace(end=end, records=before.records + count)
            continue
        else:
            begin = before.end
        found.append(CommitRange(partition, begin, end, count, start - begin))
    return found
