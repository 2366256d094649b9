"""`format("cordwood")`: what Spark calls, and nothing decided here.

driver   options ──► partitions found, offsets fixed ──► splits
task     a split ──► batches of records ──► rows
"""

from collections.abc import Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition
from pyspark.sql.types import StructType

from cordwood.core.errors import SettingError
from cordwood.spark import rows
from cordwood.spark.options import SourceOptions, parse_options
from cordwood.spark.planning import plan
from cordwood.spark.readiness import make_ready
from cordwood.spark.reading import read_split
from cordwood.spark.sink import writer
from cordwood.spark.splits import Split

if TYPE_CHECKING:
    import pyarrow as pa


class SplitPartition(InputPartition):
    """A split on its way to a task; None: there is nothing to read, and one task runs anyway."""

    def __init__(self, split: Split | None) -> None:
        super().__init__(split)


class CordwoodSource(DataSource):
    """The source as a session sees it."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        """Return what `format` is given."""
        return "cordwood"

    def schema(self) -> str:
        """Return the columns, those of `columns` alone if they are given."""
        return rows.ddl(columns_of(parse_options(self._given)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what plans and reads; the schema may be a part of ours."""
        return CordwoodReader(parse_options(self._given), tuple(schema.names))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001  # as Spark calls it
        """Return what writes; the options of writing are others than those of reading."""
        return writer(self._given, schema, is_overwrite=overwrite)


class CordwoodReader(DataSourceReader):
    """One reading: planned on the driver, then sent to tasks."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = _known(columns)

    def partitions(self) -> Sequence[InputPartition]:
        """Fix what is read, and cut it."""
        splits = plan(self._options)
        return [SplitPartition(split) for split in splits] or [SplitPartition(None)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a split."""
        if isinstance(partition, SplitPartition) and partition.value is not None:
            make_ready()
            yield from read_split(partition.value, self._columns, options=self._options)


def columns_of(options: SourceOptions) -> tuple[str, ...]:
    """Return the columns of a reading."""
    if options.columns is not None:
        return _known(options.columns)
    return (*rows.COLUMNS, rows.HEADERS) if options.has_headers else rows.COLUMNS


def _known(columns: Sequence[str]) -> tuple[str, ...]:
    known = (*rows.COLUMNS, rows.HEADERS)
    for name in columns:
        if name not in known:
            raise SettingError(
                f"there is no column {name!r}",
                key="columns",
                remedy=f"choose from {', '.join(known)}",
            )
    return tuple(columns)
