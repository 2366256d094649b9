"""Micro-batches of a pipeline into its table: the function of `foreachBatch`.

    append   tasks write files ──► one commit
    upsert   the last row of each key, by the column `order` ──► one commit

A row whose `value` is null deletes its key (a tombstone), unless the rows have no column `value`.
The changes of an upsert are collected in the driver: `maxBytesPerTrigger` bounds them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name

from cordwood.core.errors import SettingError, TableError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.tables.export_table import DELTA, ICEBERG, TableAddress
from cordwood.spark.pipeline.batch_files import table_schema, write_files
from cordwood.spark.pipeline.batch_table import (
    OFFSETS_KEY,
    BatchCommit,
    BatchKey,
    BatchTable,
    KeyedRows,
    is_written,
)
from cordwood.spark.pipeline.delta_batches import DeltaBatches
from cordwood.spark.pipeline.iceberg_batches import IcebergBatches
from cordwood.spark.pipeline.parquet_batches import ParquetBatches
from cordwood.spark.pipeline.pipeline_definition import UPSERT, TableSink
from cordwood.spark.runtime.local_path import local_path

_VALUE: Final = "value"
_LAST: Final = "cordwood_last"


def open_batch_table(sink: TableSink, query: str) -> BatchTable:
    """Return the table of a sink, whether or not it exists."""
    address = TableAddress(path=sink.to, format=sink.format, name=sink.table, catalog=sink.catalog)
    address = replace(address, path=local_path(address.path, key="to"))
    if sink.format == DELTA:
        return DeltaBatches(address)
    if sink.format == ICEBERG:
        return IcebergBatches(address)
    return ParquetBatches(address, query, SystemFiles())


class TableWriter:
    """Writes batches; `end_offsets` returns the offsets after a batch, as text."""

    def __init__(self, sink: TableSink, end_offsets: Callable[[int], str | None]) -> None:
        self._sink = sink
        self._end_offsets = end_offsets
        self._table: BatchTable | None = None

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write the rows of a batch, unless the table has it."""
        query = query_id(frame)
        table = self._table = self._table or open_batch_table(self._sink, query)
        table.recover()
        offsets = self._end_offsets(batch_id)
        last = table.last_batch(query)
        if last is not None and is_written(last, batch_id, table=table.name):
            _ensure_same(last, BatchCommit(batch_id, offsets), table=table.name)
            return
        facts = {} if offsets is None else {OFFSETS_KEY: offsets}
        folder = table.folder(table_schema(frame))
        key = BatchKey(query, batch_id)
        if self._sink.mode == UPSERT:
            table.upsert(self._changes(frame), key=key, facts=facts)
        else:
            files = write_files(frame, folder)
            table.append(files, key=key, facts=facts)

    def _changes(self, frame: DataFrame) -> KeyedRows:
        schema, sink = table_schema(frame), self._sink
        for name in (*sink.key, sink.order):
            if name not in frame.columns:
                raise SettingError(
                    f"sink: the rows have no column {name}",
                    key="sink.key",
                    remedy="keep the columns of key and order in the transforms",
                )
        whole = F.struct(*map(_column, frame.columns))
        # A struct is never null: a row whose order is null is kept, as the first one.
        newest = F.max_by(whole, F.struct(_column(sink.order))).alias(_LAST)
        last = frame.groupBy(*map(_column, sink.key)).agg(newest)
        rows = last.select(f"{_LAST}.*").toArrow().cast(schema)
        for name in sink.key:
            if rows.column(name).null_count:
                raise SettingError(
                    f"sink: a row has no key: its {name} is null",
                    key="sink.key",
                    remedy=f"leave such rows out, with WHERE {name} IS NOT NULL",
                )
        if _VALUE not in frame.columns:
            return KeyedRows(sink.key, rows, rows.slice(0, 0))
        values = rows.column(_VALUE)
        return KeyedRows(sink.key, rows.filter(values.is_valid()), rows.filter(values.is_null()))


def _column(name: str) -> Column:
    """Return a column by its name, in which a dot does not name a field of a struct."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def _ensure_same(found: BatchCommit, repeated: BatchCommit, *, table: str) -> None:
    """Raise TableError unless the newest batch of a table is the one that Spark repeats.

    Spark repeats only the last batch of a checkpoint. If the table is ahead, or its batch ends at
    other offsets, then one of the two was replaced by an older copy.
    """
    is_other = None not in (found.offsets, repeated.offsets) and found.offsets != repeated.offsets
    if found.batch == repeated.batch and not is_other:
        return
    raise TableError(
        f"has batch {found.batch} of the pipeline (offsets {found.offsets}), and its checkpoint"
        f" repeats batch {repeated.batch} (offsets {repeated.offsets})",
        path=table,
        remedy="restore the copies of both from the same time, or reset the pipeline and use a new"
        " table",
    )


def query_id(frame: DataFrame) -> str:
    """Return the id of the query that a batch belongs to; it stays the same over restarts."""
    found = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    assert found is not None, "Spark sets it for each batch"
    return str(found)
