"""Parquet files of one micro-batch, written by its tasks.

Each attempt of a task has file names of its own, so files of a killed one do not conflict. A file
belongs to a table once a commit names it.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from cordwood.core.system import SystemFiles

_CODEC: Final = "zstd"
_RESULT: Final = "path string, size long, rows long"


class BatchFile(NamedTuple):
    """A complete and synced file; `path` is relative to the folder."""

    path: str
    size: int
    rows: int


def table_schema(frame: DataFrame) -> pa.Schema:
    """Return the Arrow schema of a table with the columns of a frame; each is nullable."""
    fields = [
        field.with_nullable(nullable=True)
        for field in to_arrow_schema(frame.schema, timezone="UTC")
    ]
    return pa.schema(fields)


def write_files(frame: DataFrame, folder: str) -> list[BatchFile]:
    """Write the rows of a frame into a folder that driver and tasks share; return the files."""
    schema = table_schema(frame)
    work = partial(_write_partition, schema, folder)
    rows = frame.mapInArrow(work, _RESULT).collect()
    return [BatchFile(row.path, row.size, row.rows) for row in rows]


def _write_partition(  # tidy: allow[positional] bound by partial, then called with the rows
    schema: pa.Schema, folder: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    name, count = f"{uuid4().hex}.parquet", 0
    path = Path(folder, name)
    writer: pq.ParquetWriter | None = None
    for batch in batches:
        if batch.num_rows:
            if writer is None:
                writer = pq.ParquetWriter(path, schema, compression=_CODEC)
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
            count += batch.num_rows
    if writer is None:
        return
    writer.close()
    file = SystemFiles().open(str(path), writable=True)
    file.sync()
    file.close()
    found = BatchFile(name, path.stat().st_size, count)
    yield pa.RecordBatch.from_pylist([found._asdict()])
