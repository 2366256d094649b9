"""Offsets of a table, for an audit: the offsets of each partition in a file.

A piece is a file that one task reads. In every format it yields batches with three columns, by the
table's own names; a name with dots selects a field of a struct.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.tables.log_offsets import offset_values
from cordwood.spark.jobs.tables.offset_spans import (
    OffsetSpans,
    find_spans,
    merge_spans,
    pack_spans,
)
from cordwood.spark.runtime.arrow_scalars import integer_scalar, string_scalar
from cordwood.spark.source.source_options import TopicChoice

_BATCH_ROWS = 1 << 17
_NO_VALUES = pa.schema([])


class TablePiece(Protocol):
    """A part of a table that readers see now. It is pickled to a task."""

    @property
    def name(self) -> str:
        """The name in errors."""

    @property
    def size(self) -> int:
        """The approximate number of bytes."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, with at least the columns, or structs, that these names begin with."""


class ParquetPiece(NamedTuple):
    """A Parquet file; `constants` are columns in its path, which are not in its rows."""

    name: str
    size: int
    constants: Mapping[str, object]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in the order of the file."""
        with pq.ParquetFile(self.name) as file:
            wanted = [name for name in columns if name not in self.constants]
            present = set(file.schema_arrow.names)
            read = [name for name in wanted if name.partition(".")[0] in present]
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=read):
                yield _with_constants(batch, self.constants)


class IcebergPiece(NamedTuple):
    """An Iceberg file with its delete files, read by pyiceberg."""

    name: str
    size: int
    task: Any
    metadata: Any
    properties: Mapping[str, str]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows without deleted ones."""
        from pyiceberg.expressions import AlwaysTrue  # noqa: PLC0415  # an extra
        from pyiceberg.io import load_file_io  # noqa: PLC0415  # as above
        from pyiceberg.io.pyarrow import ArrowScan  # noqa: PLC0415  # as above

        schema = self.metadata.schema()
        names = [name for name in columns if name in schema.column_names]
        io = load_file_io(dict(self.properties), self.metadata.location)
        scan = ArrowScan(self.metadata, io, schema.select(*names), AlwaysTrue())
        yield from scan.to_record_batches([self.task])


class AuditColumns(NamedTuple):
    """The table's names of the columns that identify a record, or the topic of all rows."""

    topic: str = "topic"
    partition: str = "partition"
    offset: str = "offset"
    only_topic: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read."""
        topic = () if self.only_topic is not None else (self.topic,)
        return (*topic, self.partition, self.offset)


def find_table_offsets(
    piece: TablePiece,
    advance: Callable[[int], object],
    *,
    columns: AuditColumns,
    topics: TopicChoice,
) -> dict[TopicPartition, bytes]:
    """Return the packed spans of each partition with rows in a piece, for these topics."""
    found: dict[TopicPartition, list[OffsetSpans]] = {}
    for rows in partition_rows(piece, columns):
        if topics.includes(rows.partition):
            spans = find_spans(offset_values(rows.offsets))
            found.setdefault(rows.partition, []).append(spans)
    advance(piece.size)
    return {partition: pack_spans(merge_spans(spans)) for partition, spans in found.items()}


class TableRows(NamedTuple):
    """Rows of one partition: their offsets, and the requested columns."""

    partition: TopicPartition
    offsets: pa.Array
    values: Sequence[pa.Array]


def partition_rows(
    piece: TablePiece, columns: AuditColumns, *, values: pa.Schema = _NO_VALUES
) -> Iterator[TableRows]:
    """Yield the rows of each partition in each batch; TableError if a piece cannot be read."""
    try:
        yield from _rows_by_partition(piece, columns, values)
    except pa.ArrowException as error:
        raise TableError(
            f"cannot be read: {error}",
            path=piece.name,
            remedy="repair the table, and repeat the audit",
        ) from error


def _rows_by_partition(
    piece: TablePiece, columns: AuditColumns, values: pa.Schema
) -> Iterator[TableRows]:
    for batch in piece.batches((*columns.names, *values.names)):
        topics = (
            pa.repeat(string_scalar(columns.only_topic), batch.num_rows)
            if columns.only_topic is not None
            else _column(batch, columns.topic, kind=pa.string(), piece=piece)
        )
        partitions = _column(batch, columns.partition, kind=pa.int32(), piece=piece)
        offsets = _column(batch, columns.offset, kind=pa.int64(), piece=piece)
        for topic in topics.unique():
            is_own = pc.equal(topics, topic)
            numbers = partitions.filter(is_own)
            for which in numbers.unique():
                partition = TopicPartition(TopicName(topic.as_py()), PartitionId(which.as_py()))
                is_of = pc.and_(is_own, pc.equal(partitions, which))
                own = [_value_column(batch, field, piece).filter(is_of) for field in values]
                yield TableRows(partition, offsets.filter(is_of), own)


def _value_column(batch: pa.RecordBatch, field: pa.Field, piece: TablePiece) -> pa.Array:
    """Return a column in its type in the log: a table may have another one for the same values."""
    if field.name not in batch.schema.names:
        raise TableError(
            f"column {field.name} does not exist",
            path=piece.name,
            remedy="restore the column, or audit without deep",
        )
    return batch.column(field.name).cast(field.type)


def _column(batch: pa.RecordBatch, name: str, *, kind: pa.DataType, piece: TablePiece) -> pa.Array:
    """Return a column by name; reject nulls, because such a row identifies no record."""
    root, *path = name.split(".")
    if root not in batch.schema.names:
        raise TableError(
            f"column {name} does not exist",
            path=piece.name,
            remedy="set topicColumn, partitionColumn, offsetColumn or topicName",
        )
    array = batch.column(root)
    array = pc.struct_field(array, path) if path else array
    array = array.cast(kind)
    if array.null_count:
        raise TableError(
            f"column {name} has nulls",
            path=piece.name,
            remedy="audit only the rows that came from the log",
        )
    return array


def _with_constants(batch: pa.RecordBatch, constants: Mapping[str, object]) -> pa.RecordBatch:
    for name, value in constants.items():
        count = batch.num_rows
        array = pa.nulls(count) if value is None else pa.repeat(_scalar(value), count)
        batch = batch.append_column(name, array)
    return batch


def _scalar(value: object) -> pa.Scalar:
    """Return a constant as an integer or string scalar."""
    return (
        integer_scalar(value, pa.int64()) if isinstance(value, int) else string_scalar(str(value))
    )
