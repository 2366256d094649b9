"""What a task of an export does: splits of the log into Parquet files, column by column.

    split ──► batches of rows ──► shares, by the table's partitions ──► files, of a size

A file takes a name that no other attempt takes, so what a killed task has left is in nobody's way;
it counts once a commit names it. Rows wait until a row group is worth writing; what waits, for all
files together, has a bound, and so does the number of open files.
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
from cordwood.spark import rows
from cordwood.spark.holdings import Range
from cordwood.spark.options import SourceOptions
from cordwood.spark.reading import read_split
from cordwood.spark.splits import Split

#: Columns that are made of `timestamp`, in UTC.
_TIMES: Final = {"date": pa.date32(), "hour": pa.int32()}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

#: Columns that say much the same in each row, and those that grow from row to row.
_REPEATED: Final = ("topic", "partition", "timestampType", "date", "hour")
_GROWING: Final = {"offset": "DELTA_BINARY_PACKED", "timestamp": "DELTA_BINARY_PACKED"}

#: More would make a task larger than its readings are; row groups are of about this size.
MOST_WAITING: Final = 8 << 20
MOST_OPEN: Final = 256

#: The values of the table's partition columns, in their order, as text.
TablePlace = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOrder:
    """How files are written. With `is_whole` they have the partition columns too."""

    folder: str
    columns: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    is_whole: bool = False
    file_bytes: int = 128 << 20
    codec: str = "zstd"
    options: SourceOptions = field(default_factory=SourceOptions)
    files: Files = field(default_factory=SystemFiles)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns of the table: those of the log, then those made for its partitions."""
        return (*self.columns, *(name for name in _TIMES if name in self.partition_by))

    @property
    def file_columns(self) -> tuple[str, ...]:
        """The columns of a file."""
        if self.is_whole:
            return self.all_columns
        return tuple(name for name in self.all_columns if name not in self.partition_by)


class ValueRange(NamedTuple):
    """The smallest and the largest value of a column in a file."""

    column: str
    least: int
    most: int


class WrittenFile(NamedTuple):
    """A file that is whole and synced; `path` begins behind the folder."""

    path: str
    size: int
    rows: int
    place: TablePlace
    value_ranges: tuple[ValueRange, ...]


class Written(NamedTuple):
    """What a task has written, and how many records it was of each split."""

    files: tuple[WrittenFile, ...]
    records: tuple[tuple[Range, int], ...]


def table_schema(columns: Sequence[str]) -> pa.Schema:
    """Return the schema of a table of these columns."""
    known = [name for name in columns if name not in _TIMES]
    made = [pa.field(name, _TIMES[name]) for name in columns if name in _TIMES]
    return pa.schema([*rows.arrow_schema(known), *made])


def write_splits(
    splits: Sequence[Split], tell: Callable[[int], object], *, order: WriteOrder, name: str
) -> Written:
    """Write the rows of some splits, and tell of their bytes as they are done.

    The names of files begin with `name`, which nobody else has.
    """
    files = _Files(order, name)
    records = []
    for split in splits:
        count = 0
        for batch in read_split(split, _read_columns(order), options=order.options):
            count += batch.num_rows
            for place, share in _shares(batch, split.range.partition, order=order):
                files.add(place, share)
        records.append((split.range, count))
        tell(split.size)
    return Written(files.finish(), tuple(records))


# -- which rows go where


def _read_columns(order: WriteOrder) -> tuple[str, ...]:
    needs_time = "timestamp" not in order.columns and any(
        map(order.partition_by.__contains__, _TIMES)
    )
    return (*order.columns, "timestamp") if needs_time else order.columns


def _shares(
    batch: pa.RecordBatch, topic_partition: TopicPartition, *, order: WriteOrder
) -> Iterator[tuple[TablePlace, pa.RecordBatch]]:
    """Yield the rows of each place of the table, in the order of their offsets."""
    values: dict[str, object] = {
        "topic": topic_partition.topic,
        "partition": topic_partition.partition,
    }
    for when, share in _by_time(batch, order.partition_by):
        known = values | when
        arrays = [_column(share, name) for name in order.file_columns]
        place = tuple(str(known[name]) for name in order.partition_by)
        yield place, pa.RecordBatch.from_arrays(arrays, schema=table_schema(order.file_columns))


def _by_time(
    batch: pa.RecordBatch, partition_by: Sequence[str]
) -> Iterator[tuple[dict[str, object], pa.RecordBatch]]:
    """Yield the rows of each day, or hour, with the values of its columns."""
    if not any(name in partition_by for name in _TIMES):
        yield {}, batch
        return
    unit = "hour" if "hour" in partition_by else "day"
    times = pc.floor_temporal(batch.column("timestamp"), unit=unit)
    begins = times.unique()
    for time in begins:
        begin = _moment(time.value)
        values = {"date": begin.date(), "hour": begin.hour}
        wanted = {name: value for name, value in values.items() if name in partition_by}
        yield wanted, batch if len(begins) == 1 else batch.filter(pc.equal(times, time))


def _moment(microseconds: int) -> datetime:
    """Return a time as a calendar has it, which ends with the year 9999."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError as error:
        raise InvalidRecordError(
            f"a record is of {microseconds} us, which no calendar has a date for; partition the"
            " table by something else than date and hour"
        ) from error


def _column(share: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of the table, of rows that have the columns of the log."""
    if name not in _TIMES:
        return share.column(name)
    times = share.column("timestamp")
    return (times if name == "date" else pc.hour(times)).cast(_TIMES[name])


# -- files


class _Files:
    """The files that a task has open, one a place, and what waits to be written to each."""

    def __init__(self, order: WriteOrder, name: str) -> None:
        self._order = order
        self._name = name
        self._open: dict[TablePlace, _OpenFile] = {}
        self._begun = 0
        self._done: list[WrittenFile] = []

    def add(self, place: TablePlace, batch: pa.RecordBatch) -> None:
        """Take rows; somewhere a row group is written when too much waits."""
        if place not in self._open:
            if len(self._open) == MOST_OPEN:
                self._close_all()
            self._open[place] = self._begin(place)
        self._open[place].take(batch)
        while sum(each.waiting_bytes for each in self._open.values()) >= MOST_WAITING:
            largest = max(self._open, key=lambda each: self._open[each].waiting_bytes)
            self._write(largest)

    def finish(self) -> tuple[WrittenFile, ...]:
        """Write what waits, and return all files."""
        self._close_all()
        return tuple(self._done)

    def _write(self, place: TablePlace) -> None:
        file = self._open[place]
        file.write()
        if file.size >= self._order.file_bytes:
            self._done.append(self._open.pop(place).close())

    def _close_all(self) -> None:
        self._done += [file.close() for file in self._open.values()]
        self._open.clear()

    def _begin(self, place: TablePlace) -> "_OpenFile":
        names = zip(self._order.partition_by, place, strict=True)
        folders = [f"{name}={value}" for name, value in names]
        path = "/".join([*folders, f"{self._name}-{self._begun}.parquet"])
        self._begun += 1
        return _OpenFile(self._order, path, place)


class _OpenFile:
    """A Parquet file that is being written."""

    def __init__(self, order: WriteOrder, path: str, place: TablePlace) -> None:
        self._path, self._place, self._files = path, place, order.files
        self._whole_path = Path(order.folder, path)
        self._rows = 0
        self._waiting: list[pa.RecordBatch] = []
        self._footer: list[pq.FileMetaData] = []
        self._begin = partial(_writer, self._whole_path, order, self._footer)
        self._writer: pq.ParquetWriter | None = None
        self.waiting_bytes = 0

    @property
    def size(self) -> int:
        """How many bytes are written."""
        return self._whole_path.stat().st_size

    def take(self, batch: pa.RecordBatch) -> None:
        """Let rows wait."""
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self.waiting_bytes += batch.nbytes

    def write(self) -> None:
        """Write what waits as one row group."""
        with _named(self._whole_path):
            if self._writer is None:
                self._writer = self._begin()
            if self._waiting:
                table = pa.Table.from_batches(self._waiting)
                self._writer.write_table(table, row_group_size=table.num_rows)
        self._waiting.clear()
        self.waiting_bytes = 0

    def close(self) -> WrittenFile:
        """Write the rest; the file survives a crash from here on."""
        self.write()
        with _named(self._whole_path):
            cast("pq.ParquetWriter", self._writer).close()
        file = self._files.open(str(self._whole_path), writable=True)
        file.sync()
        file.close()
        value_ranges = tuple(_value_ranges(self._footer[0]))
        return WrittenFile(self._path, self.size, self._rows, self._place, value_ranges)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error of the operating system say which file it is about; Arrow leaves that out."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def _writer(path: Path, order: WriteOrder, footer: list[pq.FileMetaData]) -> pq.ParquetWriter:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = order.file_columns
    return pq.ParquetWriter(
        path,
        table_schema(columns),
        compression=order.codec,
        use_dictionary=[name for name in columns if name in _REPEATED],
        column_encoding={name: how for name, how in _GROWING.items() if name in columns},
        metadata_collector=footer,
    )


def _value_ranges(footer: pq.FileMetaData) -> Iterator[ValueRange]:
    """Yield the value_ranges of the columns of numbers, over all row groups."""
    for number in range(footer.num_columns):
        groups = [footer.row_group(each).column(number) for each in range(footer.num_row_groups)]
        name = groups[0].path_in_schema if groups else ""
        if name in ("partition", "offset"):
            least = min(group.statistics.min for group in groups)
            yield ValueRange(name, least, max(group.statistics.max for group in groups))
