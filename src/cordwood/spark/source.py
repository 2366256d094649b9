"""`format("cordwood")`: what Spark calls, and nothing decided here.

driver   options ──► partitions found, offsets fixed ──► splits
task     a split ──► batches of records ──► rows
"""

import sys
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from cordwood.core.errors import SettingError
from cordwood.spark import rows
from cordwood.spark.filters import narrow
from cordwood.spark.options import SourceOptions, parse_options
from cordwood.spark.planning import plan
from cordwood.spark.readiness import make_ready
from cordwood.spark.reading import read_split
from cordwood.spark.sink import writer
from cordwood.spark.splits import Split

if TYPE_CHECKING:
    import pyarrow as pa

#: The module of Spark's in whose processes readings are planned that filters are handed to.
_FILTERING: Final = "pyspark.sql.worker.data_source_pushdown_filters"


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
        return rows.ddl(rows.columns_of(parse_options(self._given)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what plans and reads; the schema may be a part of ours."""
        options = parse_options(self._given)
        is_filtering = options.takes_filters and _hands_over_filters()
        kind = FilteringReader if is_filtering else CordwoodReader
        return kind(options, _columns_in(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802  # as Spark calls it
        """Return what refuses to read: an error here would be lost behind one of Spark's own."""
        return NoStream()

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002, FBT001, N802  # as above
        """Refuse a stream."""
        raise _no_stream("written", "write each batch in foreachBatch, at least once")

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001  # as Spark calls it
        """Return what writes; the options of writing are others than those of reading."""
        return writer(self._given, schema, is_overwrite=overwrite)


class CordwoodReader(DataSourceReader):
    """One reading: planned on the driver, then sent to tasks."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = rows.known(columns)

    def partitions(self) -> Sequence[InputPartition]:
        """Fix what is read, and cut it."""
        splits = plan(self._options)
        return [SplitPartition(split) for split in splits] or [SplitPartition(None)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a split."""
        if isinstance(partition, SplitPartition) and partition.value is not None:
            make_ready()
            yield from read_split(partition.value, self._columns, options=self._options)


class NoStream(DataSourceStreamReader):
    """What a stream is told that cannot be read."""

    def initialOffset(self) -> NoReturn:  # noqa: N802  # as Spark calls it
        """Refuse a stream that begins."""
        raise _no_stream("read", "spark.read reads up to the end that there is")

    def latestOffset(self, *_: object, **__: object) -> NoReturn:  # noqa: N802  # as above
        """Refuse a stream that goes on."""
        self.initialOffset()

    def read(self, partition: InputPartition) -> NoReturn:  # noqa: ARG002  # as Spark calls it
        """Refuse what was never planned."""
        self.initialOffset()


class FilteringReader(CordwoodReader):
    """A reading of what filters leave, for where Spark hands them over and the user wants it.

    It has to be wanted: Spark 4.3 keeps what was planned with the filters of one query, and gives
    it to the next query of the same DataFrame, whatever that one filters. Who loads a DataFrame for
    each query gets the right rows.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # as Spark calls it
        """Keep to the filters as far as that can be, and return those that Spark has to apply."""
        narrowing, left = narrow(filters)
        self._options = replace(self._options, narrowing=narrowing)
        return left


def _no_stream(done: str, remedy: str) -> SettingError:
    return SettingError(f"streams are not {done} yet", key="format", remedy=remedy)


def _hands_over_filters() -> bool:
    """Whether this is the process in which Spark hands over filters.

    Elsewhere it refuses a reader that takes them, unless its setting allows to.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return _FILTERING in sys.modules or (main is not None and main.name == _FILTERING)


def _columns_in(schema: StructType) -> tuple[str, ...]:
    """Return the columns of a schema that a user may have given; their types are ours to say."""
    columns = rows.known(schema.names)
    for field in schema.fields:
        wanted = rows.SHOWN_TYPES[field.name]
        given = field.dataType.simpleString()
        if given != wanted:
            raise SettingError(
                f"column {field.name} is {wanted}, and the schema says {given}",
                key="schema",
                remedy=f"say {field.name} {wanted}, and cast what is read",
            )
        if not field.nullable:
            raise SettingError(
                f"column {field.name} can be null, and the schema says that it is not",
                key="schema",
                remedy="leave NOT NULL out",
            )
    return columns
