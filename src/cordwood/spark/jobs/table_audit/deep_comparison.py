"""Comparison of the contents of a table's rows with their records in the log, by checksums.

    driver   the offsets that are exactly once in both (`offset_comparison`), and a seed
    tasks    read the compared columns of these offsets, and sum them by range of offsets
    driver   compares the sums of each range (`row_checksums`)

The columns `date` and `hour` of a partitioned table are compared with the record's timestamp, also
if they are only in the path of a file. `topic` and `partition` identify a record: a row with others
is missing in its own partition, and that is a difference of offsets.

Rows that are removed from either side between the two reads are counted, and not compared.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.table_audit.row_checksums import (
    NO_SUMS,
    RANGE_BITS,
    RangeSums,
    RowHasher,
    Sums,
    merge_sums,
    pack_sums,
    sum_ranges,
    unpack_sums,
)
from cordwood.spark.jobs.tables.log_offsets import offset_values
from cordwood.spark.jobs.tables.offset_comparison import OffsetFault, OffsetFindings
from cordwood.spark.jobs.tables.offset_spans import (
    NO_SPANS,
    Offsets,
    OffsetSpans,
    merge_spans,
    unpack_spans,
)
from cordwood.spark.jobs.tables.parquet_files import TIME_COLUMNS, table_column, table_schema
from cordwood.spark.jobs.tables.table_pieces import AuditColumns, TablePiece, partition_rows
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_reader import read_split
from cordwood.spark.source.splits import Split

#: Packed sums by partition.
PackedSums = dict[TopicPartition, bytes]


class DeepRequest(NamedTuple):
    """The columns to compare, and the packed spans of the offsets of each partition."""

    columns: tuple[str, ...]
    offsets: Mapping[TopicPartition, bytes]
    seed: int

    @property
    def log_columns(self) -> tuple[str, ...]:
        """The columns to read from the log; dates and hours are derived from the timestamp."""
        wanted = ["timestamp" if name in TIME_COLUMNS else name for name in self.columns]
        return tuple(dict.fromkeys(["offset", *wanted]))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepComparison:
    """The number of compared rows, of those that were not, and ranges with a row that differs."""

    rows: int
    skipped: int
    findings: OffsetFindings


def sum_table_rows(
    pieces: Sequence[TablePiece],
    advance: Callable[[int], object],
    *,
    request: DeepRequest,
    columns: AuditColumns,
) -> PackedSums:
    """Return the sums of the rows of some files, by partition."""
    sums, schema = _RowSums(request), table_schema(request.columns)
    for piece in pieces:
        for rows in partition_rows(piece, columns, values=schema):
            values = dict(zip(request.columns, rows.values, strict=True))
            sums.add(rows.partition, offset_values(rows.offsets), values=values)
        advance(piece.size)
    return sums.packed()


def sum_log_rows(
    splits: Sequence[Split],
    advance: Callable[[int], object],
    *,
    request: DeepRequest,
    options: SourceOptions,
) -> PackedSums:
    """Return the sums of the records of some splits, by partition."""
    sums, wanted = _RowSums(request), request.log_columns
    for split in splits:
        for batch in read_split(split, wanted, options=options):
            values = {name: table_column(batch, name) for name in request.columns}
            sums.add(split.range.partition, offset_values(batch.column("offset")), values=values)
        advance(split.size)
    return sums.packed()


def compare_sums(
    table: Iterable[bytes], log: Iterable[bytes], *, offsets: OffsetSpans
) -> DeepComparison:
    """Compare the packed sums of a partition's tasks; `offsets` are those that were read."""
    ours, theirs = (merge_sums([unpack_sums(data) for data in each]) for each in (table, log))
    both = np.intersect1d(ours.ranges, theirs.ranges)
    ours, theirs = _chosen(ours, both), _chosen(theirs, both)
    expected = _count_below(offsets, both + 1) - _count_below(offsets, both)
    is_whole = (ours.rows == expected) & (theirs.rows == expected)
    rows = int(np.sum(expected[is_whole]))
    wrong = both[is_whole & (ours.sums != theirs.sums)]
    return DeepComparison(
        rows=rows, skipped=offsets.total - rows, findings=_findings(wrong, offsets)
    )


class _RowSums:
    """The sums of one task, by partition."""

    def __init__(self, request: DeepRequest) -> None:
        self._hasher = RowHasher(request.seed)
        self._offsets = request.offsets
        self._spans: dict[TopicPartition, OffsetSpans] = {}
        self._sums: dict[TopicPartition, RangeSums] = {}

    def add(
        self, partition: TopicPartition, offsets: Offsets, *, values: Mapping[str, pa.Array]
    ) -> None:
        """Add rows of one partition."""
        if partition not in self._offsets or not len(offsets):
            return
        if partition not in self._spans:
            self._spans[partition] = unpack_spans(self._offsets[partition])
        hashes: Sums = self._hasher.rows(offsets, values)
        added = sum_ranges(offsets, hashes, spans=self._spans[partition])
        self._sums[partition] = merge_sums([self._sums.get(partition, NO_SUMS), added])

    def packed(self) -> PackedSums:
        """Return the sums in the form for the driver."""
        return {partition: pack_sums(sums) for partition, sums in self._sums.items()}


def _chosen(sums: RangeSums, ranges: Offsets) -> RangeSums:
    places = np.searchsorted(sums.ranges, ranges)
    return RangeSums(ranges, sums.rows[places], sums.sums[places])


def _count_below(spans: OffsetSpans, ranges: Offsets) -> Offsets:
    """Return the number of offsets below the first one of each range."""
    offsets = ranges << RANGE_BITS
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(spans.ends - spans.starts)))
    places = np.searchsorted(spans.starts, offsets)
    ends = np.concatenate((np.zeros(1, np.int64), spans.ends))[places]
    return before[places] - np.maximum(ends - offsets, 0)


def _findings(ranges: Offsets, offsets: OffsetSpans) -> OffsetFindings:
    """Return the ranges, cut to the first and the last of the offsets."""
    if not len(ranges):
        return OffsetFindings()
    starts = ranges << RANGE_BITS
    whole = merge_spans([NO_SPANS, OffsetSpans(starts, starts + (1 << RANGE_BITS))])
    found = whole.between(int(offsets.starts[0]), int(offsets.ends[-1]))
    return OffsetFindings.of(found, OffsetFault.ALTERED)
