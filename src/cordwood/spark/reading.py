"""What a task does: the batches of a split, as rows.

A reading takes the memory of one run of batches and of one chunk, whatever the split is. Chunks are
large, for Spark pays for each batch that crosses to the JVM.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from cordwood.core.system import SystemFiles
from cordwood.records.chunk import Chunking
from cordwood.records.kernels import decoder
from cordwood.spark import rows
from cordwood.spark.options import SourceOptions
from cordwood.spark.splits import Split
from cordwood.storage.reader_place import open_reader
from cordwood.workbench.columns import ColumnsWanted, read_partition

CHUNKING: Final = Chunking(max_rows=1 << 17, max_bytes=8 << 20)


def read_split(
    split: Split, columns: Sequence[str], *, options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split; damage raises, and names file and position."""
    assert split.path is not None, "a split is in a directory"
    schema = rows.arrow_schema(columns)
    partition, start, end = split.range
    wanted = ColumnsWanted(
        columns=rows.record_columns(columns),
        start=start,
        end=end,
        is_committed=options.is_committed,
        chunking=CHUNKING,
    )
    reader = open_reader(SystemFiles(), split.path)
    for batch in read_partition(reader, wanted, decoder=decoder()):
        yield rows.rows_of(batch, partition, schema=schema)
