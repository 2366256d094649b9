"""What a task does: the batches of a split, as rows.

A reading takes the memory of one run of batches and of one chunk, whatever the split is. Chunks are
large, for Spark pays for each batch that crosses to the JVM.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from cordwood.core.system import SystemFiles
from cordwood.records.chunk import Chunking, Request, Selection
from cordwood.records.kernels import decoder
from cordwood.spark import rows
from cordwood.spark.brokers import connected
from cordwood.spark.fetching import fetch_range
from cordwood.spark.options import SourceOptions
from cordwood.spark.splits import Split
from cordwood.storage.reader_place import open_reader
from cordwood.workbench.columns import ColumnsWanted, read_partition

CHUNKING: Final = Chunking(max_rows=1 << 17, max_bytes=8 << 20)


def read_split(
    split: Split, columns: Sequence[str], *, options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split; damage raises, and names where it is."""
    schema = rows.arrow_schema(columns)
    wanted = rows.record_columns(columns)
    if split.path is None:
        batches = _fetched(split, wanted, options)
    else:
        batches = _read(split, split.path, wanted, options)
    for batch in batches:
        yield rows.rows_of(batch, split.range.partition, schema=schema)


def _fetched(
    split: Split, columns: tuple[str, ...], options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    _, start, end = split.range
    request = Request(
        columns=columns,
        selection=Selection(first_offset=start, last_offset=end - 1),
        chunking=CHUNKING,
    )
    with connected(options) as consumer:
        yield from fetch_range(consumer, split.range, decoder=decoder(), request=request)


def _read(
    split: Split, path: str, columns: tuple[str, ...], options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    wanted = ColumnsWanted(
        columns=columns,
        start=split.range.start,
        end=split.range.end,
        is_committed=options.is_committed,
        chunking=CHUNKING,
    )
    return read_partition(open_reader(SystemFiles(), path), wanted, decoder=decoder())
