"""Reading of a split in a task: the rows of its records (Spark: `PartitionReader`).

A read uses the memory of one run of batches and one chunk, for any size of the split. Chunks are
large, because each batch that crosses to the JVM has a cost. Offsets that were deleted after
planning are gaps, and the same policy applies to them.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from cordwood.core.system import SystemFiles
from cordwood.records.decoder import Chunking, ReadRequest, Selection
from cordwood.records.kernels import decoder
from cordwood.spark.source import source_columns
from cordwood.spark.source.broker_fetch import fetch_range
from cordwood.spark.source.broker_offsets import open_consumer
from cordwood.spark.source.coverage import (
    BrokerSource,
    OffsetRange,
    PartitionDirectory,
    PlannedRead,
)
from cordwood.spark.source.offset_gaps import resolve_gaps
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.splits import Split
from cordwood.storage.reader.path_resolution import reader_of
from cordwood.workbench.partition_columns import ColumnsRequest, LossFiller, no_rows, read_partition

if TYPE_CHECKING:
    from cordwood.client.blocking import Consumer

CHUNKING: Final = Chunking(max_rows=1 << 17, max_bytes=8 << 20)


def read_split(
    split: Split, columns: Sequence[str], *, options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split; an error for damage has file and position."""
    return read_splits([split], columns, options=options)


def read_splits(
    splits: Sequence[Split], columns: Sequence[str], *, options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of splits in order; those from brokers share a consumer."""
    schema = source_columns.arrow_schema(columns)
    with ExitStack() as opened:
        reader = _SplitReader(source_columns.record_columns(columns), options, opened)
        for split in splits:
            in_place_of = partial(reader.in_place_of, split.range)
            for batch in reader.batches(PlannedRead(split.range, split.source), in_place_of):
                yield source_columns.rows_of(batch, split.range.partition, schema=schema)


class _SplitReader:
    """Reads ranges with the same columns and options; `opened` closes the consumer."""

    def __init__(self, columns: tuple[str, ...], options: SourceOptions, opened: ExitStack) -> None:
        self._columns = columns
        self._options = options
        self._opened = opened
        self._consumer: Consumer[bytes, bytes] | None = None

    def batches(self, read: PlannedRead, in_place_of: LossFiller) -> Iterator[pa.RecordBatch]:
        """Yield the records of a planned read."""
        match read.source:
            case BrokerSource():
                return self._fetch(read.range, in_place_of)
            case PartitionDirectory(path=path):
                return self._read(read.range, path, in_place_of=in_place_of)

    def in_place_of(self, split: OffsetRange, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield replacements for deleted offsets, by the gap policy."""
        gap = split._replace(start=start, end=end)
        for read in resolve_gaps(SystemFiles(), [gap], options=self._options):
            yield from self.batches(read, no_rows)

    def _read(
        self, wanted: OffsetRange, path: str, *, in_place_of: LossFiller
    ) -> Iterator[pa.RecordBatch]:
        asked = ColumnsRequest(
            columns=self._columns,
            start=wanted.start,
            end=wanted.end,
            min_timestamp=self._options.pushed_filters.times.least,
            max_timestamp=self._options.pushed_filters.times.most,
            is_committed=self._options.is_committed,
            is_decided=True,
            chunking=CHUNKING,
        )
        reader = reader_of(SystemFiles(), path)
        return read_partition(reader, asked, decoder=decoder(), in_place_of=in_place_of)

    def _fetch(self, wanted: OffsetRange, in_place_of: LossFiller) -> Iterator[pa.RecordBatch]:
        request = ReadRequest(
            columns=self._columns,
            selection=Selection(
                first_offset=wanted.start,
                last_offset=wanted.end - 1,
                min_timestamp=self._options.pushed_filters.times.least,
                max_timestamp=self._options.pushed_filters.times.most,
            ),
            chunking=CHUNKING,
        )
        if self._consumer is None:
            self._consumer = self._opened.enter_context(open_consumer(self._options))
        yield from fetch_range(
            self._consumer, wanted, decoder=decoder(), request=request, in_place_of=in_place_of
        )
