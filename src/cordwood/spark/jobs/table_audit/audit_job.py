"""The job `audit`: comparison of the offsets of a table with those of its log.

    driver   lists the table's files, then plans the log's splits
    tasks    read the offsets of both, as spans
    driver   compares them per partition (`offset_comparison` has the rules)

The table is listed first, so that its rows were in the log before. The driver holds the spans: few
if offsets are consecutive, up to one per record in a compacted log.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from cordwood.core.binary import INT64_MAX
from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.table_audit.audit_options import AuditOptions
from cordwood.spark.jobs.table_export.export_job import open_table
from cordwood.spark.jobs.tables.export_table import ExportTable, ForeignTableError
from cordwood.spark.jobs.tables.log_offsets import SplitOffsets, find_offsets
from cordwood.spark.jobs.tables.offset_comparison import (
    AuditWindow,
    LogSide,
    OffsetComparison,
    OffsetKind,
    compare_offsets,
)
from cordwood.spark.jobs.tables.offset_spans import OffsetSpan, make_layer, stack, unpack_spans
from cordwood.spark.jobs.tables.table_ledger import ExportedOffsets, TableState, check_topics
from cordwood.spark.jobs.tables.table_pieces import AuditColumns, TablePiece, find_table_offsets
from cordwood.spark.jobs.task_packing import pack_tasks, total_bytes
from cordwood.spark.runtime.progress import UNSEEN, Progress
from cordwood.spark.runtime.task_runner import run_tasks
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.offset_resolution import PartitionExtent
from cordwood.spark.source.source_options import (
    FROM_EARLIEST,
    TO_LATEST,
    SourceOptions,
    TopicChoice,
)
from cordwood.spark.source.split_planning import ReadPlan, plan_read
from cordwood.spark.source.splits import Split

#: Most bytes of small files or splits in one task.
TASK_BYTES: Final = 256 << 20

#: Most findings of a partition in the report.
MAX_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAudit:
    """The result for one partition; `behind` offsets of the log are not exported yet."""

    partition: TopicPartition
    compared: OffsetComparison
    behind: int = 0

    def __str__(self) -> str:
        """Return a summary line, then a line per finding."""
        found = self.compared
        parts = [f"{found.proven:,} records exactly once"]
        parts += [f"{count:,} {kind} in neither" for kind, count in sorted(found.absent.items())]
        parts += [
            f"{count:,} {kind} in the table only" for kind, count in sorted(found.kept.items())
        ]
        if self.behind:
            parts.append(f"{self.behind:,} not exported yet")
        lines = [f"{self.partition}: {', '.join(parts)}"]
        lines += [f"{self.partition}: {each}" for each in found.findings[:MAX_SHOWN]]
        if len(found.findings) > MAX_SHOWN:
            lines.append(f"{self.partition}: and {len(found.findings) - MAX_SHOWN:,} more")
        return "\n".join(lines)

    def to_value(self) -> dict[str, object]:
        """Return the result as a JSON object; its keys are a stable format."""
        found = self.compared
        return {
            "proven": found.proven,
            "holes": dict(found.absent),
            "kept": dict(found.kept),
            "behind": self.behind,
            "findings": [
                {"wrong": each.fault, "start": each.start, "end": each.end}
                for each in found.findings
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit."""

    table: str
    partitions: Sequence[PartitionAudit]

    @property
    def is_whole(self) -> bool:
        """Whether there are no findings."""
        return not any(each.compared.findings for each in self.partitions)

    def __str__(self) -> str:
        """Return the lines of all partitions, then a line for the table."""
        faults = Counter(
            finding.fault for each in self.partitions for finding in each.compared.findings
        )
        proven = sum(each.compared.proven for each in self.partitions)
        result = (
            ", ".join(f"{count:,} ranges {fault}" for fault, count in sorted(faults.items()))
            or f"{proven:,} records, each exactly once"
        )
        return "\n".join([*map(str, self.partitions), f"{self.table}: {result}"])

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        partitions = {str(each.partition): each.to_value() for each in self.partitions}
        return json.dumps(
            {"table": self.table, "is_whole": self.is_whole, "partitions": partitions}
        )


def audit_table(
    spark: SparkSession, options: AuditOptions, *, progress: Progress = UNSEEN
) -> Audit:
    """Compare a table with its log; see `cordwood.spark.jobs.audit`."""
    table = open_table(options.address, SystemFiles())
    state, pieces = _claimed_state(table), table.pieces()
    source = options.source
    if state is not None:
        source = replace(source, is_committed=state.layout.is_committed)
    plan = plan_read(source, ignores_gaps=True)
    if state is not None:
        check_topics(state, plan.topic_ids, table=table.name)
    progress.begin("audit", total_bytes(pieces) + total_bytes(plan.splits))
    table_parts = run_tasks(
        spark,
        pack_tasks(pieces, TASK_BYTES),
        work=partial(_rows, columns=options.columns, topics=source.topics),
        progress=progress,
    )
    log_parts = run_tasks(
        spark,
        pack_tasks(plan.splits, TASK_BYTES),
        work=partial(_log, options=source),
        progress=progress,
    )
    rows = _rows_by_partition(table_parts)
    found = _log_by_partition(each for part in log_parts for each in part)
    partitions = {*rows, *plan.ranges, *(state.exported if state is not None else ())}
    audited = []
    for partition in sorted(partitions):
        log = _log_side(plan, partition, found.get(partition, ()))
        window = _window(plan, partition, state, source)
        audited.append(_compare(partition, log, rows.get(partition, ()), window=window))
    return Audit(table=table.name, partitions=audited)


def _claimed_state(table: ExportTable) -> TableState | None:
    """Return the state in the table's commits; None for a table of another program."""
    try:
        return table.state()
    except ForeignTableError:
        return None


# -- tasks


def _rows(
    pieces: Sequence[TablePiece],
    advance: Callable[[int], object],
    *,
    columns: AuditColumns,
    topics: TopicChoice,
) -> list[dict[TopicPartition, bytes]]:
    return [find_table_offsets(piece, advance, columns=columns, topics=topics) for piece in pieces]


def _log(
    splits: Sequence[Split], advance: Callable[[int], object], *, options: SourceOptions
) -> list[SplitOffsets]:
    return [find_offsets(split, advance, options=options) for split in splits]


# -- results by partition


def _rows_by_partition(
    found: Iterable[Iterable[Mapping[TopicPartition, bytes]]],
) -> dict[TopicPartition, list[OffsetSpan]]:
    rows: dict[TopicPartition, list[OffsetSpan]] = {}
    for task in found:
        for piece in task:
            for partition, data in piece.items():
                rows.setdefault(partition, []).extend(unpack_spans(data))
    return rows


def _log_by_partition(found: Iterable[SplitOffsets]) -> dict[TopicPartition, list[SplitOffsets]]:
    logs: dict[TopicPartition, list[SplitOffsets]] = {}
    for each in found:
        logs.setdefault(each.partition, []).append(each)
    return logs


def _log_side(plan: ReadPlan, partition: TopicPartition, found: Sequence[SplitOffsets]) -> LogSide:
    """Return the content of the log; it is empty for a partition that the log lacks."""
    start, end = plan.extents.get(partition, PartitionExtent(0, 0))
    wanted = plan.ranges.get(partition, OffsetRange(partition, 0, 0))
    compared = OffsetSpan(max(start, wanted.start), min(end, wanted.end))
    # Offsets that no split has are gaps: the plan ignores gaps.
    gaps = make_layer([compared], OffsetKind.GAP) if compared.start < compared.end else []
    parts = sorted(part for each in found for part in each.parts())
    cleaned_to = max((each.cleaned_to for each in found), default=0)
    return LogSide(start, end, stack(parts, gaps), cleaned_to)


def _window(
    plan: ReadPlan, partition: TopicPartition, state: TableState | None, source: SourceOptions
) -> AuditWindow:
    """Return the offsets that the table must have: by its commits, otherwise by the options."""
    if state is not None:
        exported = state.exported.get(partition, ExportedOffsets(0, 0))
        return AuditWindow(exported.start, exported.end, is_claimed=True)
    _, start, end = plan.ranges.get(partition, OffsetRange(partition, 0, 0))
    start = 0 if source.starting == FROM_EARLIEST else start
    end = INT64_MAX if source.ending == TO_LATEST else end
    return AuditWindow(start, end, is_claimed=False)


def _compare(
    partition: TopicPartition, log: LogSide, rows: Iterable[OffsetSpan], *, window: AuditWindow
) -> PartitionAudit:
    compared = compare_offsets(log, rows, window=window)
    behind = log.end - max(window.end, log.start) if window.is_claimed else 0
    return PartitionAudit(partition=partition, compared=compared, behind=max(0, behind))
