"""What a task does: the batches of a split, as rows.

A reading takes the memory of one run of batches and of one chunk, whatever the split is. Chunks are
large, for Spark pays for each batch that crosses to the JVM. Offsets that were there when the
splits were made and have gone since are holes like those that were found then.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from cordwood.core.system import SystemFiles
from cordwood.records.chunk import Chunking, Request, Selection
from cordwood.records.kernels import decoder
from cordwood.spark import rows
from cordwood.spark.brokers import connected
from cordwood.spark.fetching import fetch_range
from cordwood.spark.gaps import close_holes
from cordwood.spark.holdings import Piece, Range
from cordwood.spark.options import SourceOptions
from cordwood.spark.splits import Split
from cordwood.storage.reader_place import reader_of
from cordwood.workbench.columns import ColumnsWanted, InPlaceOf, nothing, read_partition

CHUNKING: Final = Chunking(max_rows=1 << 17, max_bytes=8 << 20)


def read_split(
    split: Split, columns: Sequence[str], *, options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split; damage raises, and names where it is."""
    schema = rows.arrow_schema(columns)
    reading = _Reading(rows.record_columns(columns), options)
    in_place_of = partial(reading.in_place_of, split.range)
    for batch in reading.batches(Piece(split.range, split.path), in_place_of):
        yield rows.rows_of(batch, split.range.partition, schema=schema)


class _Reading:
    """The columns of records that are read, and how."""

    def __init__(self, columns: tuple[str, ...], options: SourceOptions) -> None:
        self._columns = columns
        self._options = options

    def batches(self, piece: Piece, in_place_of: InPlaceOf) -> Iterator[pa.RecordBatch]:
        """Yield the records of a piece."""
        wanted, path = piece
        if path is None:
            return self._fetched(wanted, in_place_of)
        return self._read(wanted, path, in_place_of=in_place_of)

    def in_place_of(self, split: Range, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield what is read in place of offsets that have gone, as the options say."""
        hole = split._replace(start=start, end=end)
        for piece in close_holes(SystemFiles(), [hole], options=self._options):
            yield from self.batches(piece, nothing)

    def _read(
        self, wanted: Range, path: str, *, in_place_of: InPlaceOf
    ) -> Iterator[pa.RecordBatch]:
        asked = ColumnsWanted(
            columns=self._columns,
            start=wanted.start,
            end=wanted.end,
            min_timestamp=self._options.narrowing.times.least,
            max_timestamp=self._options.narrowing.times.most,
            is_committed=self._options.is_committed,
            is_decided=True,
            chunking=CHUNKING,
        )
        reader = reader_of(SystemFiles(), path)
        return read_partition(reader, asked, decoder=decoder(), in_place_of=in_place_of)

    def _fetched(self, wanted: Range, in_place_of: InPlaceOf) -> Iterator[pa.RecordBatch]:
        request = Request(
            columns=self._columns,
            selection=Selection(
                first_offset=wanted.start,
                last_offset=wanted.end - 1,
                min_timestamp=self._options.narrowing.times.least,
                max_timestamp=self._options.narrowing.times.most,
            ),
            chunking=CHUNKING,
        )
        with connected(self._options) as consumer:
            yield from fetch_range(
                consumer, wanted, decoder=decoder(), request=request, in_place_of=in_place_of
            )
