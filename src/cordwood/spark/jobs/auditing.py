"""The job `audit`: whether a table has each offset of a log exactly once, and which it has not.

    driver   the table's files, then the log's splits, as they are now
    tasks    offsets of either, as runs
    driver   a comparison a partition (`audit_compare` has the rules)

The table is looked at first, so that whatever it has was in the log before. The driver holds the
runs: few, where offsets follow each other; as many as records, where compaction has been.
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
from cordwood.spark.bounds import Extent
from cordwood.spark.holdings import Range
from cordwood.spark.jobs.audit_compare import Comparison, Kind, LogSide, Window, compare
from cordwood.spark.jobs.audit_offsets import LogFound, find_offsets
from cordwood.spark.jobs.audit_options import AuditOrder
from cordwood.spark.jobs.audit_pieces import Columns, TablePiece, find_rows
from cordwood.spark.jobs.audit_runs import Run, above, layer, unpacked
from cordwood.spark.jobs.chores import bytes_of, chores
from cordwood.spark.jobs.export_ledger import Held, Standing, check_topics
from cordwood.spark.jobs.export_tables import ExportTable, ForeignTableError
from cordwood.spark.jobs.exporting import open_table
from cordwood.spark.options import FROM_EARLIEST, TO_LATEST, SourceOptions, TopicChoice
from cordwood.spark.planning import Plan, whole_plan
from cordwood.spark.progress import UNSEEN, Progress
from cordwood.spark.running import run_tasks
from cordwood.spark.splits import Split

#: What one task reads, of small files and splits together.
TASK_BYTES: Final = 256 << 20

#: How many findings of a partition are shown one by one.
MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAudit:
    """What was found of one partition. `behind` offsets of the log were not exported yet."""

    partition: TopicPartition
    compared: Comparison
    behind: int = 0

    def __str__(self) -> str:
        """Return a line of what is right, and one of each thing that is not."""
        found = self.compared
        words = [f"{found.proven:,} records are in the table once"]
        words += [f"{count:,} {kind} in neither" for kind, count in sorted(found.holes.items())]
        words += [f"{count:,} {kind} in it alone" for kind, count in sorted(found.kept.items())]
        if self.behind:
            words.append(f"{self.behind:,} not exported yet")
        lines = [f"{self.partition}: {', '.join(words)}"]
        lines += [f"{self.partition}: {each}" for each in found.findings[:MOST_SHOWN]]
        if len(found.findings) > MOST_SHOWN:
            lines.append(f"{self.partition}: and {len(found.findings) - MOST_SHOWN:,} more")
        return "\n".join(lines)

    def to_value(self) -> dict[str, object]:
        """Return the same, as JSON has it."""
        found = self.compared
        return {
            "proven": found.proven,
            "holes": dict(found.holes),
            "kept": dict(found.kept),
            "behind": self.behind,
            "findings": [finding._asdict() for finding in found.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found of a table."""

    table: str
    partitions: Sequence[PartitionAudit]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not any(each.compared.findings for each in self.partitions)

    def __str__(self) -> str:
        """Return what each partition says, and what follows."""
        wrong = Counter(
            finding.wrong for each in self.partitions for finding in each.compared.findings
        )
        proven = sum(each.compared.proven for each in self.partitions)
        says = (
            ", ".join(f"{count:,} ranges {kind}" for kind, count in sorted(wrong.items()))
            or f"has each of {proven:,} records exactly once"
        )
        return "\n".join([*map(str, self.partitions), f"{self.table}: {says}"])

    def to_json(self) -> str:
        """Return the same as one JSON object."""
        partitions = {str(each.partition): each.to_value() for each in self.partitions}
        return json.dumps(
            {"table": self.table, "is_whole": self.is_whole, "partitions": partitions}
        )


def audit(spark: SparkSession, order: AuditOrder, *, progress: Progress = UNSEEN) -> Audit:
    """Hold a table against the log that it was made of; see `cordwood.spark.jobs.audit`."""
    table = open_table(order.address, SystemFiles())
    standing, pieces = _claimed(table), table.pieces()
    source = order.source
    if standing is not None:
        source = replace(source, is_committed=standing.shape.is_committed)
    plan = whole_plan(source, is_open=True)
    if standing is not None:
        check_topics(standing, plan.topic_ids, table=table.name)
    progress.begin("audit", bytes_of(pieces) + bytes_of(plan.splits))
    has = run_tasks(
        spark,
        chores(pieces, TASK_BYTES),
        work=partial(_rows, columns=order.columns, topics=source.topics),
        progress=progress,
    )
    logs = run_tasks(
        spark,
        chores(plan.splits, TASK_BYTES),
        work=partial(_log, options=source),
        progress=progress,
    )
    rows = _rows_by_partition(has)
    found = _log_by_partition(each for chore in logs for each in chore)
    partitions = {*rows, *plan.ranges, *(standing.held if standing is not None else ())}
    audited = []
    for partition in sorted(partitions):
        log = _side(plan, partition, found.get(partition, ()))
        window = _window(plan, partition, standing, source)
        audited.append(_compared(partition, log, rows.get(partition, ()), window=window))
    return Audit(table=table.name, partitions=audited)


def _claimed(table: ExportTable) -> Standing | None:
    try:
        return table.standing()
    except ForeignTableError:
        return None


# -- tasks


def _rows(
    pieces: Sequence[TablePiece],
    tell: Callable[[int], object],
    *,
    columns: Columns,
    topics: TopicChoice,
) -> list[dict[TopicPartition, bytes]]:
    return [find_rows(piece, tell, columns=columns, topics=topics) for piece in pieces]


def _log(
    splits: Sequence[Split], tell: Callable[[int], object], *, options: SourceOptions
) -> list[LogFound]:
    return [find_offsets(split, tell, options=options) for split in splits]


# -- what they found, by partition


def _rows_by_partition(
    found: Iterable[Iterable[Mapping[TopicPartition, bytes]]],
) -> dict[TopicPartition, list[Run]]:
    rows: dict[TopicPartition, list[Run]] = {}
    for chore in found:
        for piece in chore:
            for partition, data in piece.items():
                rows.setdefault(partition, []).extend(unpacked(data))
    return rows


def _log_by_partition(found: Iterable[LogFound]) -> dict[TopicPartition, list[LogFound]]:
    logs: dict[TopicPartition, list[LogFound]] = {}
    for each in found:
        logs.setdefault(each.partition, []).append(each)
    return logs


def _side(plan: Plan, partition: TopicPartition, found: Sequence[LogFound]) -> LogSide:
    """Return what the log has; of a partition that it lacks, nothing."""
    start, end = plan.extents.get(partition, Extent(0, 0))
    wanted = plan.ranges.get(partition, Range(partition, 0, 0))
    looked_at = Run(max(start, wanted.start), min(end, wanted.end))
    nowhere = layer([looked_at], Kind.GAP) if looked_at.start < looked_at.end else []
    parts = sorted(part for each in found for part in each.parts())
    cleaned_to = max((each.cleaned_to for each in found), default=0)
    return LogSide(start, end, above(parts, nowhere), cleaned_to)


def _window(
    plan: Plan, partition: TopicPartition, standing: Standing | None, source: SourceOptions
) -> Window:
    """Return which offsets the table is to have: what it claims, or what the options say."""
    if standing is not None:
        held = standing.held.get(partition, Held(0, 0))
        return Window(held.start, held.end, is_claimed=True)
    _, start, end = plan.ranges.get(partition, Range(partition, 0, 0))
    start = 0 if source.starting == FROM_EARLIEST else start
    end = INT64_MAX if source.ending == TO_LATEST else end
    return Window(start, end, is_claimed=False)


def _compared(
    partition: TopicPartition, log: LogSide, rows: Iterable[Run], *, window: Window
) -> PartitionAudit:
    compared = compare(log, rows, window=window)
    behind = log.end - max(window.end, log.start) if window.is_claimed else 0
    return PartitionAudit(partition=partition, compared=compared, behind=max(0, behind))
