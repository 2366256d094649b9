"""Logs to export, and the results of export tasks, without Spark."""

from pathlib import Path

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.tables.export_table import ExportTable, TableCommit
from cordwood.spark.jobs.tables.parquet_files import (
    ParquetWriteOptions,
    ParquetWriteResult,
    write_splits,
)
from cordwood.spark.jobs.tables.table_ledger import CommitRange, TableLayout, TableState
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory
from cordwood.spark.source.source_columns import COLUMNS
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.splits import Split
from tests.unit.storage.reader_samples import name

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))


def write_log(logs: Path, *batches: bytes, partition: str = "orders-0") -> Path:
    """Write the single segment of a partition, and return the log directory."""
    (logs / partition).mkdir(parents=True, exist_ok=True)
    (logs / partition / name(0)).write_bytes(b"".join(batches))
    return logs


def split(logs: Path, start: int, end: int) -> Split:
    return Split(OffsetRange(ORDERS, start, end), 100, PartitionDirectory(str(logs / str(ORDERS))))


def write_options(
    folder: str, *, has_partition_columns: bool = False, by: tuple[str, ...] = ()
) -> ParquetWriteOptions:
    options = SourceOptions(is_committed=True)
    return ParquetWriteOptions(
        folder=folder,
        columns=COLUMNS,
        partition_by=by,
        has_partition_columns=has_partition_columns,
        source=options,
    )


def layout(by: tuple[str, ...] = ()) -> TableLayout:
    return TableLayout(columns=write_options("", by=by).all_columns, partition_by=by)


def written(table: ExportTable, part: Split, name: str, *, by: tuple[str, ...] = ()) -> TableCommit:
    """Write a split as a task does, and return the commit."""
    wanted = write_options(
        table.folder(layout(by)), has_partition_columns=table.has_partition_columns, by=by
    )
    return commit_of(write_splits([part], lambda _: None, options=wanted, name=name), part)


def add(
    table: ExportTable, logs: Path, ends: tuple[int, int], *, by: tuple[str, ...] = ()
) -> TableState:
    """Commit a range of offsets, and return the state of the table."""
    return table.commit(written(table, split(logs, *ends), f"{ends[0]}", by=by), layout(by))


def commit_of(found: ParquetWriteResult, part: Split) -> TableCommit:
    return TableCommit(found.files, (CommitRange(*part.range, dict(found.records)[part.range]),))
