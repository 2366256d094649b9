"""The job `export`: a log into a table, in commits that repeat nothing and skip nothing.

    driver   where the table stands ──► splits behind that ──► a round ──► commit ──► next round
    tasks                                                      files, written by columns

Each commit is one step, made by the driver alone, with the offsets that it adds. A job that was
killed is begun again with the same options, and goes on behind its last commit.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import uuid4

from pyspark.sql import SparkSession

from cordwood.core.errors import TableError
from cordwood.core.ports import Files
from cordwood.spark.jobs.chores import bytes_of, chores, gathered
from cordwood.spark.jobs.export_delta import DeltaLakeTable
from cordwood.spark.jobs.export_files import WriteOrder, Written, write_splits
from cordwood.spark.jobs.export_iceberg import IcebergTable
from cordwood.spark.jobs.export_ledger import Shape, Standing, check_shape, check_topics, empty
from cordwood.spark.jobs.export_options import ExportOrder
from cordwood.spark.jobs.export_parquet import ParquetTable
from cordwood.spark.jobs.export_plan import follow, refuse_lost, stretches_of
from cordwood.spark.jobs.export_tables import (
    DELTA,
    ICEBERG,
    PARQUET,
    Addition,
    ExportTable,
    TableAddress,
)
from cordwood.spark.local_paths import local_path
from cordwood.spark.planning import whole_plan
from cordwood.spark.progress import UNSEEN, Progress
from cordwood.spark.running import run_tasks
from cordwood.spark.splits import Split
from cordwood.storage.atomic import exists

_TABLES: Final[Mapping[str, Callable[[TableAddress, Files], ExportTable]]] = {
    PARQUET: ParquetTable,
    DELTA: DeltaLakeTable,
    ICEBERG: IcebergTable,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What an export has added to a table, and where that stands now."""

    table: str
    standing: Standing
    additions: Sequence[Addition] = ()

    @property
    def records(self) -> int:
        """How many records were added."""
        return sum(each.records for addition in self.additions for each in addition.stretches)

    def __str__(self) -> str:
        """Return a line a partition, then one of them all."""
        lines = []
        for partition, held in sorted(self.standing.held.items()):
            lost = sum(end - start for start, end in held.lost)
            words = f", {lost:,} offsets lost before they were exported" if lost else ""
            lines.append(
                f"{partition}: offsets {held.start:,} to {held.end - 1:,}, "
                f"{held.records:,} records{words}"
            )
        files = sum(len(addition.files) for addition in self.additions)
        size = sum(file.size for addition in self.additions for file in addition.files)
        lines.append(
            f"{self.table}: {self.records:,} records added in {len(self.additions):,} commits, "
            f"{files:,} files, {size:,} bytes"
        )
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the same as one JSON object."""
        partitions = {
            str(partition): held._asdict() for partition, held in self.standing.held.items()
        }
        files = [file.path for addition in self.additions for file in addition.files]
        return json.dumps(
            {
                "table": self.table,
                "records": self.records,
                "commits": len(self.additions),
                "files": files,
                "partitions": partitions,
            }
        )


def open_table(address: TableAddress, files: Files) -> ExportTable:
    """Return the table at an address, whether it is there yet or not.

    Tasks work elsewhere, so what is shared is said as a whole path. TableError: it is a file's.
    """
    whole = replace(address, path=local_path(address.path, key="table"))
    if exists(files, whole.path) and not files.stat(whole.path).is_directory:
        raise TableError("is a file", path=whole.path, remedy="give the folder of a table")
    return _TABLES[address.format](whole, files)


def export(
    spark: SparkSession, order: ExportOrder, *, files: Files, progress: Progress = UNSEEN
) -> Export:
    """Add to a table what a log has behind the table's end; see `cordwood.spark.jobs.export`.

    `files` goes to tasks too.
    """
    table = open_table(order.address, files)
    write = _how(order, table, files=files)
    shape = Shape(
        columns=write.all_columns,
        partition_by=order.partition_by,
        is_committed=order.source.is_committed,
    )
    with table.writing():
        standing = table.standing() or empty(shape)
        check_shape(standing, shape, table=table.name)
        plan = whole_plan(order.source)
        check_topics(standing, plan.topic_ids, table=table.name)
        splits = follow(plan, standing, options=order.source, table=table.name)
        if not order.may_lose:
            refuse_lost(splits, standing, table=table.name)
        progress.begin("export", bytes_of(splits))
        if splits:
            write = replace(write, folder=table.folder(shape))
        additions = []
        for each in gathered(splits, order.commit_bytes):
            parts = chores(each, order.file_bytes)
            work = partial(_chore, order=write)
            written = run_tasks(spark, parts, work=work, progress=progress)
            addition = _addition(each, written, standing)._replace(topic_ids=plan.topic_ids)
            standing = table.commit(addition, shape)
            additions.append(addition)
    return Export(table=table.name, standing=standing, additions=additions)


def _how(order: ExportOrder, table: ExportTable, *, files: Files) -> WriteOrder:
    """Return how files are written; the folder is told once there is something to write."""
    return WriteOrder(
        folder="",
        columns=order.columns,
        partition_by=order.partition_by,
        is_whole=table.is_whole,
        file_bytes=order.file_bytes,
        codec=order.codec,
        options=order.source,
        files=files,
    )


def _chore(splits: Sequence[Split], tell: Callable[[int], object], *, order: WriteOrder) -> Written:
    return write_splits(splits, tell, order=order, name=uuid4().hex)


def _addition(splits: Sequence[Split], written: Sequence[Written], before: Standing) -> Addition:
    records = dict(counted for each in written for counted in each.records)
    files = tuple(file for each in written for file in each.files)
    return Addition(files, tuple(stretches_of(splits, records, held=before.held)))
