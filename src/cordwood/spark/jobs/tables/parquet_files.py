"""Parquet files of an export, written by its tasks from splits of the log.

    split ──► batches of rows ──► rows per table partition ──► files, up to a size

Each attempt has its own file names, so files of a killed task do not conflict. A file belongs to
the table once a commit names it. Rows are buffered until a row group is large enough. The buffered
bytes of all files together are limited, and so is the number of open files.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cordwood.core.errors import InvalidRecordError
from cordwood.core.ports import Files
from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.spark.source import source_columns
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_reader import read_split
from cordwood.spark.source.splits import Split

#: Columns that are derived from the timestamp, in UTC, to partition a table by them.
TIME_COLUMNS: Final = {"date": pa.date32(), "hour": pa.int32()}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

#: Columns with repeated values get a dictionary, and growing ones delta encoding.
_REPEATED: Final = ("topic", "partition", "timestampType", "date", "hour")
_GROWING: Final = {"offset": "DELTA_BINARY_PACKED", "timestamp": "DELTA_BINARY_PACKED"}

#: Limit of buffered bytes, about the size of a row group; it keeps a task as small as a read.
MAX_BUFFERED_BYTES: Final = 8 << 20
MAX_OPEN_FILES: Final = 256

#: Values of the table's partition columns, in order, as text.
PartitionValues = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetWriteOptions:
    """Options of the files; with `has_partition_columns` files contain these columns."""

    folder: str
    columns: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    has_partition_columns: bool = False
    file_bytes: int = 128 << 20
    codec: str = "zstd"
    source: SourceOptions = field(default_factory=SourceOptions)
    files: Files = field(default_factory=SystemFiles)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns of the table: those of the log, then the derived partition columns."""
        return (*self.columns, *(name for name in TIME_COLUMNS if name in self.partition_by))

    @property
    def file_columns(self) -> tuple[str, ...]:
        """The columns of a file."""
        if self.has_partition_columns:
            return self.all_columns
        return tuple(name for name in self.all_columns if name not in self.partition_by)


class ValueRange(NamedTuple):
    """The smallest and the largest value of a column in a file."""

    column: str
    least: int
    most: int


class WrittenFile(NamedTuple):
    """A complete and synced file; `path` is relative to the folder."""

    path: str
    size: int
    rows: int
    partition_values: PartitionValues
    value_ranges: tuple[ValueRange, ...]


class ParquetWriteResult(NamedTuple):
    """The files of a task, and the number of records of each split."""

    files: tuple[WrittenFile, ...]
    records: tuple[tuple[OffsetRange, int], ...]


def table_schema(columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of a table with these columns."""
    known = [name for name in columns if name not in TIME_COLUMNS]
    made = [pa.field(name, TIME_COLUMNS[name]) for name in columns if name in TIME_COLUMNS]
    return pa.schema([*source_columns.arrow_schema(known), *made])


def write_splits(
    splits: Sequence[Split],
    advance: Callable[[int], object],
    *,
    options: ParquetWriteOptions,
    name: str,
) -> ParquetWriteResult:
    """Write the rows of splits; call `advance` with the bytes of each finished split.

    File names begin with `name`, which must be unique.
    """
    files = _PartitionedWriter(options, name)
    records = []
    for split in splits:
        count = 0
        for batch in read_split(split, _read_columns(options), options=options.source):
            count += batch.num_rows
            for values, rows in _rows_by_values(batch, split.range.partition, options=options):
                files.add(values, rows)
        records.append((split.range, count))
        advance(split.size)
    return ParquetWriteResult(files.finish(), tuple(records))


# -- rows per table partition


def _read_columns(options: ParquetWriteOptions) -> tuple[str, ...]:
    needs_time = "timestamp" not in options.columns and any(
        map(options.partition_by.__contains__, TIME_COLUMNS)
    )
    return (*options.columns, "timestamp") if needs_time else options.columns


def _rows_by_values(
    batch: pa.RecordBatch, topic_partition: TopicPartition, *, options: ParquetWriteOptions
) -> Iterator[tuple[PartitionValues, pa.RecordBatch]]:
    """Yield the rows of each table partition, in the order of their offsets."""
    values: dict[str, object] = {
        "topic": topic_partition.topic,
        "partition": topic_partition.partition,
    }
    for time_values, rows in _by_time(batch, options.partition_by):
        known = values | time_values
        arrays = [table_column(rows, name) for name in options.file_columns]
        own = tuple(str(known[name]) for name in options.partition_by)
        yield own, pa.RecordBatch.from_arrays(arrays, schema=table_schema(options.file_columns))


def _by_time(
    batch: pa.RecordBatch, partition_by: Sequence[str]
) -> Iterator[tuple[dict[str, object], pa.RecordBatch]]:
    """Yield the rows of each day or hour, with the values of the derived columns."""
    if not any(name in partition_by for name in TIME_COLUMNS):
        yield {}, batch
        return
    unit = "hour" if "hour" in partition_by else "day"
    times = pc.floor_temporal(batch.column("timestamp"), unit=unit)
    if len(times) and not pc.all(pc.equal(times, times[0])).as_py():
        # The sort is stable, so offsets stay in order; a filter per hour would be quadratic.
        order = pc.array_sort_indices(times)
        batch, times = batch.take(order), times.take(order)
    runs = pc.run_end_encode(times)
    start = 0
    for time, end in zip(runs.values, runs.run_ends.to_pylist(), strict=True):
        begin = _moment(time.value)
        values = {"date": begin.date(), "hour": begin.hour}
        wanted = {name: value for name, value in values.items() if name in partition_by}
        yield wanted, batch.slice(start, end - start)
        start = end


def _moment(microseconds: int) -> datetime:
    """Return a timestamp as a datetime, which ends with the year 9999."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError as error:
        raise InvalidRecordError(
            f"a record has timestamp {microseconds} us, which is out of the range of dates;"
            " partition the table without date and hour"
        ) from error


def table_column(rows: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of the table from rows with the columns of the log."""
    if name not in TIME_COLUMNS:
        return rows.column(name)
    times = rows.column("timestamp")
    return (times if name == "date" else pc.hour(times)).cast(TIME_COLUMNS[name])


# -- files


class _PartitionedWriter:
    """The open files of a task, one per table partition."""

    def __init__(self, options: ParquetWriteOptions, name: str) -> None:
        self._order = options
        self._name = name
        self._open: dict[PartitionValues, _ParquetFileWriter] = {}
        self._begun = 0
        self._done: list[WrittenFile] = []

    def add(self, values: PartitionValues, batch: pa.RecordBatch) -> None:
        """Buffer rows; write the largest buffer as a row group when the limit is reached."""
        if values not in self._open:
            if len(self._open) == MAX_OPEN_FILES:
                self._close_all()
            self._open[values] = self._begin(values)
        self._open[values].buffer(batch)
        while sum(each.buffered_bytes for each in self._open.values()) >= MAX_BUFFERED_BYTES:
            largest = max(self._open, key=lambda each: self._open[each].buffered_bytes)
            self._write(largest)

    def finish(self) -> tuple[WrittenFile, ...]:
        """Write buffered rows, and return all files."""
        self._close_all()
        return tuple(self._done)

    def _write(self, values: PartitionValues) -> None:
        file = self._open[values]
        file.write()
        if file.size >= self._order.file_bytes:
            self._done.append(self._open.pop(values).close())

    def _close_all(self) -> None:
        self._done += [file.close() for file in self._open.values()]
        self._open.clear()

    def _begin(self, values: PartitionValues) -> "_ParquetFileWriter":
        names = zip(self._order.partition_by, values, strict=True)
        folders = [f"{name}={value}" for name, value in names]
        path = "/".join([*folders, f"{self._name}-{self._begun}.parquet"])
        self._begun += 1
        return _ParquetFileWriter(self._order, path, values)


class _ParquetFileWriter:
    """Writes one Parquet file."""

    def __init__(self, options: ParquetWriteOptions, path: str, values: PartitionValues) -> None:
        self._path, self._values, self._files = path, values, options.files
        self._full_path = Path(options.folder, path)
        self._rows = 0
        self._buffered: list[pa.RecordBatch] = []
        self._footer: list[pq.FileMetaData] = []
        self._begin = partial(_writer, self._full_path, options, self._footer)
        self._writer: pq.ParquetWriter | None = None
        self.buffered_bytes = 0

    @property
    def size(self) -> int:
        """The number of written bytes."""
        return self._full_path.stat().st_size

    def buffer(self, batch: pa.RecordBatch) -> None:
        """Buffer rows."""
        self._buffered.append(batch)
        self._rows += batch.num_rows
        self.buffered_bytes += batch.nbytes

    def write(self) -> None:
        """Write the buffered rows as one row group."""
        with _named(self._full_path):
            if self._writer is None:
                self._writer = self._begin()
            if self._buffered:
                table = pa.Table.from_batches(self._buffered)
                self._writer.write_table(table, row_group_size=table.num_rows)
        self._buffered.clear()
        self.buffered_bytes = 0

    def close(self) -> WrittenFile:
        """Write the buffered rows, and fsync the file."""
        self.write()
        with _named(self._full_path):
            cast("pq.ParquetWriter", self._writer).close()
        file = self._files.open(str(self._full_path), writable=True)
        file.sync()
        file.close()
        value_ranges = tuple(_value_ranges(self._footer[0]))
        return WrittenFile(self._path, self.size, self._rows, self._values, value_ranges)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the path to an OSError, which Arrow raises without one."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def _writer(
    path: Path, options: ParquetWriteOptions, footer: list[pq.FileMetaData]
) -> pq.ParquetWriter:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = options.file_columns
    return pq.ParquetWriter(
        path,
        table_schema(columns),
        compression=options.codec,
        use_dictionary=[name for name in columns if name in _REPEATED],
        column_encoding={name: how for name, how in _GROWING.items() if name in columns},
        metadata_collector=footer,
    )


def _value_ranges(footer: pq.FileMetaData) -> Iterator[ValueRange]:
    """Yield the value ranges of the integer columns over all row groups."""
    for number in range(footer.num_columns):
        groups = [footer.row_group(each).column(number) for each in range(footer.num_row_groups)]
        name = groups[0].path_in_schema if groups else ""
        if name in ("partition", "offset"):
            least = min(group.statistics.min for group in groups)
            yield ValueRange(name, least, max(group.statistics.max for group in groups))
