"""The job `audit`: comparison of the offsets of a table with those of its log.

    driver   lists the table's files, then plans the log's splits
    tasks    read the offsets of both, as spans
    driver   compares them per partition (`offset_comparison` has the rules), and the number of the
             table's rows with the number that its commits count
    deep     a second round compares the contents of the rows (`deep_comparison`)

State and files are of one version of the table, which is listed first, so that its rows were in the
log before. The driver holds the spans, 16 bytes each: few if offsets are consecutive, up to one per
record in a compacted log.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import SettingError, TableError
from cordwood.core.ports import Random
from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.table_audit.audit_options import OF, AuditOptions
from cordwood.spark.jobs.table_audit.audit_report import Audit, PartitionAudit, RowCount
from cordwood.spark.jobs.table_audit.deep_comparison import (
    DeepRequest,
    PackedSums,
    compare_sums,
    sum_log_rows,
    sum_table_rows,
)
from cordwood.spark.jobs.table_audit.row_checksums import COMPARED_COLUMNS
from cordwood.spark.jobs.table_export.export_job import open_table
from cordwood.spark.jobs.table_export.export_plan import known_ends, truncated_ends
from cordwood.spark.jobs.tables.export_table import ExportTable, ForeignTableError
from cordwood.spark.jobs.tables.log_offsets import SplitOffsets, find_offsets
from cordwood.spark.jobs.tables.offset_comparison import (
    AuditWindow,
    KindSpans,
    LogSide,
    OffsetKind,
    compare_offsets,
    join_kinds,
)
from cordwood.spark.jobs.tables.offset_spans import (
    OffsetSpans,
    pack_spans,
    sort_bounds,
    subtract_spans,
    unpack_spans,
)
from cordwood.spark.jobs.tables.table_ledger import (
    ExportedOffsets,
    TableLayout,
    TableState,
    check_leader_epochs,
    check_topics,
)
from cordwood.spark.jobs.tables.table_pieces import AuditColumns, TablePiece, find_table_offsets
from cordwood.spark.jobs.task_packing import pack_tasks, total_bytes
from cordwood.spark.runtime.progress import NO_PROGRESS, Progress
from cordwood.spark.runtime.task_runner import run_tasks
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.offset_resolution import PartitionExtent
from cordwood.spark.source.source_options import (
    FROM_EARLIEST,
    TO_LATEST,
    SourceOptions,
    TopicChoice,
)
from cordwood.spark.source.split_planning import ReadPlan, find_witnesses, plan_read
from cordwood.spark.source.splits import Split

#: Most bytes of small files or splits in one task.
TASK_BYTES: Final = 256 << 20

#: Attempts to list a table between two commits of an export.
MAX_LISTINGS: Final = 100

_SEED_BYTES: Final = 8


def audit_table(
    spark: SparkSession,
    options: AuditOptions,
    *,
    progress: Progress = NO_PROGRESS,
    random: Random | None = None,
) -> Audit:
    """Compare a table with its log; see `cordwood.spark.jobs.audit`."""
    table = open_table(options.address, SystemFiles(), key=OF)
    state, pieces = list_table(table)
    columns = _compared_columns(options, state, table=table.name)
    source = options.source
    if state is not None:
        source = replace(source, is_committed=state.layout.is_committed)
    plan = plan_read(source, ignores_gaps=True)
    if state is not None:
        check_topics(state, plan.topic_ids, table=table.name)
        witnesses = find_witnesses(source, known_ends(state))
        check_leader_epochs(state, truncated_ends(witnesses), table=table.name)
    run = _AuditRun(spark, replace(options, source=source), plan, pieces, progress)
    rounds = 2 if columns else 1
    progress.begin("audit", rounds * (total_bytes(pieces) + total_bytes(plan.splits)))
    audited = run.compare_offsets(state, keeps_proven=bool(columns))
    if columns:
        seed = int.from_bytes((random or SystemRandom()).token(_SEED_BYTES))
        audited = run.compare_contents(audited, columns, seed=seed)
    return Audit(table=table.name, partitions=audited, columns=columns)


def list_table(table: ExportTable) -> tuple[TableState | None, list[TablePiece]]:
    """Return the state in the table's commits, and the files, of one version of the table.

    The state is None for a table of another program. An export that commits meanwhile changes the
    state, so the state is read before and after the files.
    """
    for _ in range(MAX_LISTINGS):
        state = _claimed_state(table)
        try:
            pieces = table.pieces()
        except TableError:
            if _claimed_state(table) == state:
                raise
            continue
        if _claimed_state(table) == state:
            return state, pieces
    raise TableError(
        "exports commit faster than its files can be listed",
        path=table.name,
        remedy="audit it when no export runs",
    )


def _claimed_state(table: ExportTable) -> TableState | None:
    try:
        return table.state()
    except ForeignTableError:
        return None


def _compared_columns(
    options: AuditOptions, state: TableState | None, *, table: str
) -> tuple[str, ...]:
    """Return the columns whose contents are compared; none without `deep`."""
    if not options.is_deep:
        return ()
    columns = () if state is None else compared_columns(state.layout)
    if not columns:
        raise SettingError(
            f"deep: {table} has no columns of an export to compare",
            key="deep",
            remedy=f"audit its offsets only, or a table of an export with one of "
            f"{', '.join(COMPARED_COLUMNS)}",
        )
    return columns


def compared_columns(layout: TableLayout) -> tuple[str, ...]:
    """Return the columns that a deep audit compares, those of partitions included."""
    present = (*layout.columns, *layout.partition_by)
    return tuple(name for name in COMPARED_COLUMNS if name in present)


@dataclass(frozen=True, slots=True)
class _AuditRun:
    """The tasks of one audit."""

    spark: SparkSession
    options: AuditOptions
    plan: ReadPlan
    pieces: Sequence[TablePiece]
    progress: Progress

    def compare_offsets(
        self, state: TableState | None, *, keeps_proven: bool
    ) -> list[PartitionAudit]:
        """Read the offsets of both sides, and compare each partition."""
        topics, plan = self.options.source.topics, self.plan
        rows = _rows_by_partition(
            run_tasks(
                self.spark,
                pack_tasks(self.pieces, TASK_BYTES),
                work=partial(_rows, columns=self.options.columns, topics=topics),
                progress=self.progress,
            )
        )
        found = _log_by_partition(
            run_tasks(
                self.spark,
                pack_tasks(plan.splits, TASK_BYTES),
                work=partial(_log, options=self.options.source),
                progress=self.progress,
            )
        )
        claimed = {} if state is None else state.exported
        partitions = {*rows, *plan.ranges, *filter(topics.includes, claimed)}
        audited = []
        for partition in sorted(partitions):
            # Each partition's spans are released before the next one is unpacked.
            log = log_side(plan, partition, found=found.pop(partition, []))
            table = sort_bounds(map(unpack_spans, rows.pop(partition, [])))
            window = _window(plan, partition, state, self.options.source)
            compared = compare_offsets(log, table, window=window, keeps_proven=keeps_proven)
            behind = log.end - max(window.end, log.start) if window.is_claimed else 0
            count = (
                None if state is None else RowCount(_claimed_rows(state, partition), table.total)
            )
            audited.append(
                PartitionAudit(
                    partition=partition, compared=compared, behind=max(0, behind), rows=count
                )
            )
        return audited

    def compare_contents(
        self, audited: Sequence[PartitionAudit], columns: tuple[str, ...], *, seed: int
    ) -> list[PartitionAudit]:
        """Read the offsets that are in both again, with their contents, and compare these."""
        proven = {each.partition: each.compared.proven_spans for each in audited}
        packed = {each: pack_spans(spans) for each, spans in proven.items() if spans.count}
        request = DeepRequest(columns, packed, seed)
        rows = run_tasks(
            self.spark,
            pack_tasks(self.pieces, TASK_BYTES),
            work=partial(sum_table_rows, request=request, columns=self.options.columns),
            progress=self.progress,
        )
        records = run_tasks(
            self.spark,
            pack_tasks(self.plan.splits, TASK_BYTES),
            work=partial(sum_log_rows, request=request, options=self.options.source),
            progress=self.progress,
        )
        return [
            replace(
                each,
                deep=compare_sums(
                    _of_partition(rows, each.partition),
                    _of_partition(records, each.partition),
                    offsets=proven[each.partition],
                ),
            )
            for each in audited
        ]


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
) -> dict[TopicPartition, list[bytes]]:
    rows: dict[TopicPartition, list[bytes]] = {}
    for task in found:
        for piece in task:
            for partition, data in piece.items():
                rows.setdefault(partition, []).append(data)
    return rows


def _log_by_partition(
    found: Iterable[Iterable[SplitOffsets]],
) -> dict[TopicPartition, list[SplitOffsets]]:
    logs: dict[TopicPartition, list[SplitOffsets]] = {}
    for task in found:
        for each in task:
            logs.setdefault(each.partition, []).append(each)
    return logs


def _of_partition(tasks: Iterable[PackedSums], partition: TopicPartition) -> list[bytes]:
    return [task[partition] for task in tasks if partition in task]


def _claimed_rows(state: TableState, partition: TopicPartition) -> int:
    return state.exported.get(partition, ExportedOffsets(0, 0)).records


def log_side(
    plan: ReadPlan, partition: TopicPartition, *, found: Sequence[SplitOffsets]
) -> LogSide:
    """Return the content of the log; it is empty for a partition that the log lacks."""
    start, end = plan.extents.get(partition, PartitionExtent(0, 0))
    wanted = plan.ranges.get(partition, OffsetRange(partition, 0, 0))
    first, last = max(start, wanted.start), min(end, wanted.end)
    compared = OffsetSpans.of([(first, last)] if first < last else [])
    splits = sorted(found, key=lambda each: each.start)
    covered = OffsetSpans.of([(each.start, each.end) for each in splits])
    # Offsets that no split has are gaps: the plan ignores gaps.
    gaps = KindSpans.of(subtract_spans(compared, covered), OffsetKind.GAP)
    rests = [KindSpans.of(OffsetSpans.of([(each.start, each.end)]), each.rest) for each in splits]
    return LogSide(
        start,
        end,
        join_kinds([part for each in splits for part in each.parts()]),
        rest=join_kinds([*rests, gaps]),
        cleaned_to=max((each.cleaned_to for each in splits), default=0),
    )


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
