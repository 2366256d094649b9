"""Batches of rows for tables, without a session."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from cordwood.spark.pipeline.batch_files import BatchFile
from cordwood.spark.pipeline.batch_table import BatchKey, BatchTable, KeyedRows

SCHEMA: Final = pa.schema([("key", pa.string()), ("value", pa.int64())])
QUERY: Final = "5e0b9c31-61c2-4b9e-b5b1-0f7f9f5a0001"

Rows = Sequence[tuple[str, int | None]]


def rows_of(rows: Rows) -> pa.Table:
    """Return rows as a table."""
    return pa.Table.from_pylist([{"key": key, "value": value} for key, value in rows], SCHEMA)


def append(
    table: BatchTable, batch: int, rows: Rows, facts: Mapping[str, str] | None = None
) -> None:
    """Append rows as a batch of the query."""
    folder = table.folder(SCHEMA)
    path = Path(folder, f"{batch}-{len([*Path(folder).iterdir()])}.parquet")
    pq.write_table(rows_of(rows), path)
    file = BatchFile(path.name, path.stat().st_size, len(rows))
    table.append([file], key=BatchKey(QUERY, batch), facts=facts or {})


def upsert(table: BatchTable, batch: int, rows: Rows, deleted: Sequence[str] = ()) -> None:
    """Upsert rows as a batch of the query."""
    table.folder(SCHEMA)
    gone = rows_of([(key, None) for key in deleted])
    changes = KeyedRows(("key",), rows_of(rows), gone)
    table.upsert(changes, key=BatchKey(QUERY, batch), facts={})
