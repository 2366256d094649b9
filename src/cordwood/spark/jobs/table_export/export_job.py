"""The job `export`: a log into a table, in commits that neither repeat nor skip offsets.

    driver   state of the table ──► splits after its end ──► a round ──► commit ──► next round
    tasks                                                    write files, column by column

Each commit is atomic, and contains the offsets that it adds; only the driver commits. To resume a
killed job, run it again with the same options: it continues after its last commit.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import uuid4

from pyspark.sql import SparkSession

from cordwood.core.counts import counted
from cordwood.core.errors import TableError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.table_export.export_options import TO, ExportOptions
from cordwood.spark.jobs.table_export.export_plan import (
    absent_partitions,
    check_lost,
    check_plan,
    commit_ranges,
    known_ends,
)
from cordwood.spark.jobs.tables.delta_table import DeltaLakeTable
from cordwood.spark.jobs.tables.export_table import (
    DELTA,
    ICEBERG,
    PARQUET,
    ExportTable,
    TableAddress,
    TableCommit,
)
from cordwood.spark.jobs.tables.iceberg_table import IcebergTable
from cordwood.spark.jobs.tables.parquet_files import (
    ParquetWriteOptions,
    ParquetWriteResult,
    write_splits,
)
from cordwood.spark.jobs.tables.parquet_table import ParquetTable
from cordwood.spark.jobs.tables.table_ledger import (
    TableLayout,
    TableState,
    check_layout,
    check_topics,
    empty_state,
)
from cordwood.spark.jobs.task_packing import group_by_bytes, pack_tasks, total_bytes
from cordwood.spark.runtime.local_path import local_path
from cordwood.spark.runtime.progress import NO_PROGRESS, Progress
from cordwood.spark.runtime.task_runner import run_tasks
from cordwood.spark.source.split_planning import ReadPlan, plan_read
from cordwood.spark.source.splits import Split
from cordwood.storage.files.atomic_write import exists

#: Attempts of a task; each one writes files of its own.
MAX_TASK_ATTEMPTS: Final = 3

_TABLES: Final[Mapping[str, Callable[[TableAddress, Files], ExportTable]]] = {
    PARQUET: ParquetTable,
    DELTA: DeltaLakeTable,
    ICEBERG: IcebergTable,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The commits of an export, and the state of the table after them.

    No source has the `absent` partitions of the table, or the options do not select them.
    """

    table: str
    state: TableState
    commits: Sequence[TableCommit] = ()
    absent: Sequence[TopicPartition] = ()

    @property
    def records(self) -> int:
        """The number of added records."""
        return sum(each.records for commit in self.commits for each in commit.ranges)

    def __str__(self) -> str:
        """Return a line per partition, then a line for the table."""
        lines = []
        for partition, exported in sorted(self.state.exported.items()):
            lost = sum(end - start for start, end in exported.lost)
            lost_text = f", {counted(lost, 'offset')} lost before the export" if lost else ""
            absent_text = "; in no source of this export" if partition in self.absent else ""
            lines.append(
                f"{partition}: offsets {exported.start:,} to {exported.end - 1:,}, "
                f"{counted(exported.records, 'record')}{lost_text}{absent_text}"
            )
        return "\n".join([*lines, f"{self.table}: {self._summary()}"])

    def _summary(self) -> str:
        if not self.commits:
            return "no new records; the table ends where the log ends"
        files = [file for commit in self.commits for file in commit.files]
        return (
            f"{counted(self.records, 'record')} added in {counted(len(self.commits), 'commit')}, "
            f"{counted(len(files), 'file')}, {counted(sum(file.size for file in files), 'byte')}"
        )

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        partitions = {
            str(partition): each._asdict() for partition, each in self.state.exported.items()
        }
        files = [file.path for commit in self.commits for file in commit.files]
        return json.dumps(
            {
                "table": self.table,
                "records": self.records,
                "commits": len(self.commits),
                "files": files,
                "partitions": partitions,
                "absent": [str(each) for each in self.absent],
            }
        )


def open_table(address: TableAddress, files: Files, *, key: str = TO) -> ExportTable:
    """Return the table at an address, whether or not it exists; `key` is the option with its path.

    Tasks run in other folders, so the path becomes absolute. Raise TableError for a path of a file.
    """
    absolute = replace(address, path=local_path(address.path, key=key))
    if exists(files, absolute.path) and not files.stat(absolute.path).is_directory:
        raise TableError("is a file", path=absolute.path, remedy="use the folder of a table")
    return _TABLES[address.format](absolute, files)


def export_log(
    spark: SparkSession, options: ExportOptions, *, files: Files, progress: Progress = NO_PROGRESS
) -> Export:
    """Append the records of a log after the table's end; see `cordwood.spark.jobs.export`.

    `files` is pickled to tasks.
    """
    table = open_table(options.address, files)
    write = _write_options(options, table, files=files)
    layout = TableLayout(
        columns=write.all_columns,
        partition_by=options.partition_by,
        is_committed=options.source.is_committed,
    )
    with table.writing():
        state = table.state() or empty_state(layout)
        check_layout(state, layout, table=table.name)
        plan = plan_read(options.source, known=known_ends(state))
        check_topics(state, plan.topic_ids, table=table.name)
        check_plan(plan, state, options=options.source, table=table.name)
        if not options.may_lose:
            check_lost(plan, state, table=table.name)
        absent = absent_partitions(plan, state)
        progress.begin("export", total_bytes(plan.splits))
        if plan.splits:
            write = replace(write, folder=table.folder(layout))
        commits = []
        for each in group_by_bytes(plan.splits, options.commit_bytes):
            parts = pack_tasks(each, options.file_bytes)
            work = partial(_write_files, options=write)
            written = run_tasks(
                spark, parts, work=work, progress=progress, attempts=MAX_TASK_ATTEMPTS
            )
            commit = _commit_of(each, written, state=state, plan=plan)
            state = table.commit(commit, layout)
            commits.append(commit)
    return Export(table=table.name, state=state, commits=commits, absent=absent)


def _write_options(
    options: ExportOptions, table: ExportTable, *, files: Files
) -> ParquetWriteOptions:
    """Return the options of files; the folder is set once there are rows to write."""
    return ParquetWriteOptions(
        folder="",
        columns=options.columns,
        partition_by=options.partition_by,
        has_partition_columns=table.has_partition_columns,
        file_bytes=options.file_bytes,
        codec=options.codec,
        source=options.source,
        files=files,
    )


def _write_files(
    splits: Sequence[Split], advance: Callable[[int], object], *, options: ParquetWriteOptions
) -> ParquetWriteResult:
    return write_splits(splits, advance, options=options, name=uuid4().hex)


def _commit_of(
    splits: Sequence[Split],
    written: Sequence[ParquetWriteResult],
    *,
    state: TableState,
    plan: ReadPlan,
) -> TableCommit:
    records = dict(counted for each in written for counted in each.records)
    files = tuple(file for each in written for file in each.files)
    ranges = tuple(commit_ranges(splits, records, state=state, plan=plan))
    epochs = {
        each.partition: epoch
        for each in ranges
        if (epoch := plan.witnesses[each.partition].leader_epoch) is not None
    }
    continued = frozenset(each.partition for each in ranges) & state.exported.keys()
    return TableCommit(files, ranges, plan.topic_ids, epochs, continued)
