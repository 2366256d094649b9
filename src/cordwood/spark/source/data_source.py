"""The data source of `format("cordwood")`: the classes that Spark calls, without decisions.

driver   options ──► partitions and offsets are resolved ──► splits
task     a split ──► batches of records ──► rows
"""

import sys
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import replace
from functools import cached_property
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
from cordwood.spark.runtime.worker_warmup import prepare_worker
from cordwood.spark.sink.data_writer import make_writer
from cordwood.spark.source import source_columns
from cordwood.spark.source.filter_pushdown import push_filters
from cordwood.spark.source.local_paths import parse_local_options
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_planning import plan_splits
from cordwood.spark.source.split_reader import read_split
from cordwood.spark.source.splits import Split

if TYPE_CHECKING:
    import pyarrow as pa

#: The module of PySpark that plans reads with filter pushdown, in a process of its own.
_FILTERING: Final = "pyspark.sql.worker.data_source_pushdown_filters"


class SplitPartition(InputPartition):
    """A split for a task; None if there is no split, because Spark runs one task anyway."""

    def __init__(self, split: Split | None) -> None:
        super().__init__(split)


class CordwoodSource(DataSource):
    """The data source that a session registers."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @cached_property
    def _options(self) -> SourceOptions:
        """The options of a read, parsed on first use: a sink has other options."""
        return parse_local_options(self._given)

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "cordwood"

    def schema(self) -> str:
        """Return the schema: all columns, or those of the option `columns`."""
        return source_columns.ddl_schema(source_columns.selected_columns(self._options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader; the schema may be a subset of the source's columns."""
        options = self._options
        is_filtering = options.is_pushing_filters and _is_filter_process()
        kind = FilteringReader if is_filtering else CordwoodReader
        return kind(options, _columns_in(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802  # as Spark calls it
        """Return a reader that raises later; Spark hides an error that is raised here."""
        return UnsupportedStreamReader()

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002, FBT001, N802  # as above
        """Reject a streaming write."""
        raise _no_stream("write", "write each batch in foreachBatch, at least once")

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001  # as Spark calls it
        """Return a writer; a sink has other options than the source."""
        return make_writer(self._given, schema, is_overwrite=overwrite)


class CordwoodReader(DataSourceReader):
    """One batch read: planned on the driver, then pickled to tasks."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = source_columns.check_columns(columns)

    def partitions(self) -> Sequence[InputPartition]:
        """Resolve the offsets to read, and return the splits."""
        splits = plan_splits(self._options)
        return [SplitPartition(split) for split in splits] or [SplitPartition(None)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a split."""
        if isinstance(partition, SplitPartition) and partition.value is not None:
            prepare_worker()
            yield from read_split(partition.value, self._columns, options=self._options)


class UnsupportedStreamReader(DataSourceStreamReader):
    """A stream reader that raises when a query starts."""

    def initialOffset(self) -> NoReturn:  # noqa: N802  # as Spark calls it
        """Reject a new stream."""
        raise _no_stream("read", "use spark.read, which reads up to the current end")

    def latestOffset(self, *_: object, **__: object) -> NoReturn:  # noqa: N802  # as above
        """Reject a stream that is resumed."""
        self.initialOffset()

    def read(self, partition: InputPartition) -> NoReturn:  # noqa: ARG002  # as Spark calls it
        """Reject a partition: none was planned."""
        self.initialOffset()


class FilteringReader(CordwoodReader):
    """A read with filter pushdown, if Spark and the option `pushFilters` enable it.

    It is opt-in: Spark 4.3 caches the plan with the filters of one query, and reuses it for the
    next query of the same DataFrame, which may have other filters. A program that loads a
    DataFrame for each query gets the right rows.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # as Spark calls it
        """Accept filters that the source can apply; return those that Spark must apply."""
        pushed, remaining = push_filters(filters)
        self._options = replace(self._options, pushed_filters=pushed)
        return remaining


def _no_stream(verb: str, remedy: str) -> SettingError:
    return SettingError(f"streaming {verb}s are not supported yet", key="format", remedy=remedy)


def _is_filter_process() -> bool:
    """Return whether this is the process in which Spark pushes filters.

    In other processes Spark rejects a reader with `pushFilters`, unless its setting is on.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return _FILTERING in sys.modules or (main is not None and main.name == _FILTERING)


def _columns_in(schema: StructType) -> tuple[str, ...]:
    """Return the columns of a schema; a user's schema may not change types or nullability."""
    columns = source_columns.check_columns(schema.names)
    for field in schema.fields:
        wanted = source_columns.SHOWN_TYPES[field.name]
        given = field.dataType.simpleString()
        if given != wanted:
            raise SettingError(
                f"schema: column {field.name} has type {wanted}, not {given}",
                key="schema",
                remedy=f"declare {field.name} {wanted}, and cast after the read",
            )
        if not field.nullable:
            raise SettingError(
                f"schema: column {field.name} is nullable",
                key="schema",
                remedy="remove NOT NULL",
            )
    return columns
