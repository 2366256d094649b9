"""Plan of an export: the splits after the table's end, in commits and tasks.

    table's ends ──► splits of the log after them ──► one round per commit ──► tasks, with
                     (or an error)                    (`commitBytes`)          files each

A killed run loses its current round, which no reader sees; the next run starts from the table's
state. A task has splits of about a file's size together (`pack_tasks`), of several partitions if
necessary, because small partitions would produce small files.

The starting options are for partitions that the table lacks. In others the export continues at the
table's end, also if the log does not have the start any more.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from cordwood.core.errors import TableError
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.tables.table_ledger import (
    CommitRange,
    TableState,
    check_leader_epochs,
    check_start,
)
from cordwood.spark.source.coverage import KnownEnd, OffsetRange
from cordwood.spark.source.offset_resolution import PartitionWitness
from cordwood.spark.source.source_options import EARLIEST, SourceOptions
from cordwood.spark.source.split_planning import ReadPlan
from cordwood.spark.source.splits import Split

_ANOTHER_LOG: Final = "the log was truncated, or is another log; export into another table"


def known_ends(state: TableState) -> dict[TopicPartition, KnownEnd]:
    """Return the ends of a table, where the plan of its export begins."""
    return {
        partition: KnownEnd(exported.end, state.leader_epochs.get(partition))
        for partition, exported in state.exported.items()
    }


def check_plan(plan: ReadPlan, state: TableState, *, options: SourceOptions, table: str) -> None:
    """Reject the plan of an export that does not continue the table.

    That is another start than the table's start or end, a log that ends before the table, a log
    whose records were replaced, and a partition that is selected and in no source.
    """
    for partition, exported in state.exported.items():
        witness = plan.witnesses.get(partition)
        if witness is None:
            _check_absent(plan, partition, options=options, table=table)
        elif witness.log_end < exported.end:
            raise TableError(
                f"{partition}: table ends at offset {exported.end}, after the log"
                f" ({witness.log_end})",
                path=table,
                remedy=_ANOTHER_LOG,
            )
        _check_given_start(plan, state, partition, options=options, table=table)
    check_leader_epochs(state, truncated_ends(plan.witnesses), table=table)


def truncated_ends(
    witnesses: Mapping[TopicPartition, PartitionWitness],
) -> dict[TopicPartition, int]:
    """Return where the log has replaced records below the ends of a table."""
    return {
        partition: witness.truncated_at
        for partition, witness in witnesses.items()
        if witness.truncated_at is not None
    }


def absent_partitions(plan: ReadPlan, state: TableState) -> list[TopicPartition]:
    """Return the partitions of a table that no source has, or that are not selected."""
    return sorted(state.exported.keys() - plan.extents.keys())


def _check_absent(
    plan: ReadPlan, partition: TopicPartition, *, options: SourceOptions, table: str
) -> None:
    """Reject a missing partition of a topic that is there, or that the options name.

    A missing topic may be deleted, or of another source, if the options select all topics.
    """
    topic, names = partition.topic, options.topics.names or frozenset()
    is_there = topic in names or any(each.topic == topic for each in plan.extents)
    if options.topics.assigned is None and options.topics.may_include(topic) and is_there:
        raise TableError(
            f"{partition} is in the table, but in no source",
            path=table,
            remedy="mount its directory, or select the existing partitions with assign",
        )


def _check_given_start(
    plan: ReadPlan,
    state: TableState,
    partition: TopicPartition,
    *,
    options: SourceOptions,
    table: str,
) -> None:
    """Reject a starting option that the table does not begin or end with.

    The offset of a timestamp changes when retention deletes the start of the table from the log.
    """
    exported, wanted = state.exported[partition], plan.ranges.get(partition)
    given = options.starting.for_partition(partition)
    if wanted is None or given == EARLIEST or wanted.start == exported.start:
        return
    if options.starting.is_time and plan.extents[partition].first > exported.start:
        return
    check_start(state, partition, start=wanted.start, table=table)


def check_lost(plan: ReadPlan, state: TableState, *, table: str) -> None:
    """Reject an export if retention has deleted offsets that the table lacks."""
    for each in commit_ranges(plan.splits, {}, state=state, plan=plan):
        if each.lost:
            raise _lost(each.partition, each.start, each.start + each.lost, table)
    ends = {split.range.partition: split.range.end for split in plan.splits}
    for partition, wanted in plan.ranges.items():
        exported = state.exported.get(partition)
        begin = wanted.start if exported is None else exported.end
        begin = ends.get(partition, begin)
        if begin < min(wanted.end, plan.extents[partition].end):
            raise _lost(partition, begin, wanted.end, table)


def _lost(partition: TopicPartition, start: int, end: int, table: str) -> TableError:
    return TableError(
        f"lacks offsets {start} to {end - 1} of {partition}, which were deleted from the log",
        path=table,
        remedy="export from a source that still has them, or set gap=record",
    )


def commit_ranges(
    splits: Sequence[Split],
    records: Mapping[OffsetRange, int],
    *,
    state: TableState,
    plan: ReadPlan,
) -> list[CommitRange]:
    """Return the ranges that splits add; offsets lost before a split belong to its range."""
    found: list[CommitRange] = []
    for split in splits:
        partition, start, end = split.range
        count, before = records.get(split.range, 0), found[-1] if found else None
        if before is None or before.partition != partition:
            begin = _begin_of(partition, start, state=state, plan=plan)
        elif before.end == start:
            found[-1] = before._replace(end=end, records=before.records + count)
            continue
        else:
            begin = before.end
        found.append(CommitRange(partition, begin, end, count, start - begin))
    return found


def _begin_of(partition: TopicPartition, start: int, *, state: TableState, plan: ReadPlan) -> int:
    """Return the first offset of a range: the table's end, or the start that the options select."""
    if partition in state.exported:
        return state.exported[partition].end
    wanted = plan.ranges.get(partition)
    return start if wanted is None else min(start, wanted.start)
