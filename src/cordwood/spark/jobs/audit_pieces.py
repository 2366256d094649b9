"""What a task of an audit finds in a table: the offsets of each partition that a file of it has.

A piece is what one task reads. Whatever the format is, it hands out batches of three columns, by
the names that the table has for them; a name with dots goes into structs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.audit_offsets import runs_of
from cordwood.spark.jobs.audit_runs import Run, joined, packed
from cordwood.spark.options import TopicChoice
from cordwood.spark.scalars import number, text

_BATCH_ROWS = 1 << 17


class TablePiece(Protocol):
    """A part of a table as its readers see it now. It is pickled on its way to a task."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def size(self) -> int:
        """How many bytes it has, about."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, of at least the columns whose names begin these names."""


class ParquetPiece(NamedTuple):
    """A file; `constants` are the columns that its place in the table says, in no row of it."""

    name: str
    size: int
    constants: Mapping[str, object]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in the order of the file."""
        with pq.ParquetFile(self.name) as file:
            wanted = [name for name in columns if name not in self.constants]
            there = set(file.schema_arrow.names)
            read = [name for name in wanted if name.partition(".")[0] in there]
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=read):
                yield _with_constants(batch, self.constants)


class IcebergPiece(NamedTuple):
    """A file of Iceberg's with what was deleted of it, to be read by its library."""

    name: str
    size: int
    task: Any
    metadata: Any
    properties: Mapping[str, str]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that were not deleted."""
        from pyiceberg.expressions import AlwaysTrue  # noqa: PLC0415  # an extra
        from pyiceberg.io import load_file_io  # noqa: PLC0415  # as above
        from pyiceberg.io.pyarrow import ArrowScan  # noqa: PLC0415  # as above

        schema = self.metadata.schema()
        names = [name for name in columns if name in schema.column_names]
        io = load_file_io(dict(self.properties), self.metadata.location)
        scan = ArrowScan(self.metadata, io, schema.select(*names), AlwaysTrue())
        yield from scan.to_record_batches([self.task])


class Columns(NamedTuple):
    """What a table calls the columns that say which record a row is; or the topic of all rows."""

    topic: str = "topic"
    partition: str = "partition"
    offset: str = "offset"
    only_topic: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        topic = () if self.only_topic is not None else (self.topic,)
        return (*topic, self.partition, self.offset)


def find_rows(
    piece: TablePiece, tell: Callable[[int], object], *, columns: Columns, topics: TopicChoice
) -> dict[TopicPartition, bytes]:
    """Return the packed runs of each partition that has rows in a piece, of these topics."""
    found: dict[TopicPartition, list[Run]] = {}
    try:
        for partition, offsets in _by_partition(piece, columns):
            if topics.has(partition):
                found.setdefault(partition, []).extend(runs_of(offsets))
    except pa.ArrowException as error:
        raise TableError(
            f"cannot be read: {error}", path=piece.name, remedy="mend the table, and audit it again"
        ) from error
    tell(piece.size)
    return {partition: packed(joined(runs)) for partition, runs in found.items()}


def _by_partition(piece: TablePiece, columns: Columns) -> Iterator[tuple[TopicPartition, pa.Array]]:
    """Yield the offsets of each partition in each batch."""
    for batch in piece.batches(columns.names):
        topics = (
            pa.repeat(text(columns.only_topic), batch.num_rows)
            if columns.only_topic is not None
            else _column(batch, columns.topic, kind=pa.string(), piece=piece)
        )
        partitions = _column(batch, columns.partition, kind=pa.int32(), piece=piece)
        offsets = _column(batch, columns.offset, kind=pa.int64(), piece=piece)
        for topic in topics.unique():
            is_there = pc.equal(topics, topic)
            own, numbers = offsets.filter(is_there), partitions.filter(is_there)
            for which in numbers.unique():
                partition = TopicPartition(TopicName(topic.as_py()), PartitionId(which.as_py()))
                yield partition, own.filter(pc.equal(numbers, which))


def _column(batch: pa.RecordBatch, name: str, *, kind: pa.DataType, piece: TablePiece) -> pa.Array:
    """Return a column by its name; one without a value does not say which record a row is."""
    root, *path = name.split(".")
    if root not in batch.schema.names:
        raise TableError(
            f"has no column {name}",
            path=piece.name,
            remedy="say topicColumn, partitionColumn, offsetColumn, or topicName",
        )
    array = batch.column(root)
    array = pc.struct_field(array, path) if path else array
    array = array.cast(kind)
    if array.null_count:
        raise TableError(
            f"has rows without {name}",
            path=piece.name,
            remedy="audit the part of the table that is of the log",
        )
    return array


def _with_constants(batch: pa.RecordBatch, constants: Mapping[str, object]) -> pa.RecordBatch:
    for name, value in constants.items():
        count = batch.num_rows
        array = pa.nulls(count) if value is None else pa.repeat(_scalar(value), count)
        batch = batch.append_column(name, array)
    return batch


def _scalar(value: object) -> pa.Scalar:
    """Return a constant as what it is: a whole number, or words, which columns are made of."""
    return number(value, pa.int64()) if isinstance(value, int) else text(str(value))
