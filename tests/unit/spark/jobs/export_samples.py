"""Logs to export, and what tasks make of them without Spark."""

from pathlib import Path

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.holdings import Range
from cordwood.spark.jobs.export_files import WriteOrder, Written, write_splits
from cordwood.spark.jobs.export_ledger import Shape, Standing, Stretch
from cordwood.spark.jobs.export_tables import Addition, ExportTable
from cordwood.spark.options import SourceOptions
from cordwood.spark.rows import COLUMNS
from cordwood.spark.splits import Split
from tests.unit.storage.reader_samples import name

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))


def write_log(logs: Path, *batches: bytes, partition: str = "orders-0") -> Path:
    """Write the only segment of a partition, and return the log directory."""
    (logs / partition).mkdir(parents=True, exist_ok=True)
    (logs / partition / name(0)).write_bytes(b"".join(batches))
    return logs


def split(logs: Path, start: int, end: int) -> Split:
    return Split(Range(ORDERS, start, end), 100, str(logs / str(ORDERS)))


def order(folder: str, *, is_whole: bool = False, by: tuple[str, ...] = ()) -> WriteOrder:
    options = SourceOptions(is_committed=True)
    return WriteOrder(
        folder=folder, columns=COLUMNS, partition_by=by, is_whole=is_whole, options=options
    )


def shape(by: tuple[str, ...] = ()) -> Shape:
    return Shape(columns=order("", by=by).all_columns, partition_by=by)


def written(table: ExportTable, part: Split, name: str, *, by: tuple[str, ...] = ()) -> Addition:
    """Return what a task has written of a split for a table, to be committed."""
    wanted = order(table.folder(shape(by)), is_whole=table.is_whole, by=by)
    return addition(write_splits([part], lambda _: None, order=wanted, name=name), part)


def add(
    table: ExportTable, logs: Path, ends: tuple[int, int], *, by: tuple[str, ...] = ()
) -> Standing:
    """Commit a range of offsets, and return where the table stands then."""
    return table.commit(written(table, split(logs, *ends), f"{ends[0]}", by=by), shape(by))


def addition(found: Written, part: Split) -> Addition:
    return Addition(found.files, (Stretch(*part.range, dict(found.records)[part.range]),))
