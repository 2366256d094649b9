"""The data source of `format("cordwood")`, which Spark asks for readers and writers.

It composes the packages `source`, `stream` and `sink`, so it lies above them. Spark imports it in
several short-lived processes, so it imports the sink where one is written.
"""

import sys
from collections.abc import MutableMapping
from functools import cached_property
from typing import Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.short_errors import short_errors
from cordwood.spark.source import catalog_table, source_columns
from cordwood.spark.source.batch_reader import CordwoodReader, FilteringReader
from cordwood.spark.source.local_paths import parse_local_options
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.stream.stream_options import parse_local_stream_options, stream_names_in
from cordwood.spark.stream.stream_reader import CordwoodStreamReader, RejectedStreamReader

#: The module of PySpark that plans reads with filter pushdown, in a process of its own.
_FILTERING: Final = "pyspark.sql.worker.data_source_pushdown_filters"


class CordwoodSource(DataSource):
    """The data source that a session registers."""

    @short_errors()
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._is_table = catalog_table.is_created(options)
        self._given = catalog_table.options_of_user(options)

    @cached_property
    def _options(self) -> SourceOptions:
        """The options of a read, parsed on first use: a sink has other options."""
        return parse_local_options(self._given)

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "cordwood"

    @short_errors()
    def schema(self) -> str | StructType:
        """Return the schema: all columns, or those of the option `columns`."""
        columns = source_columns.selected_columns(self._schema_options())
        if not self._is_table:
            return source_columns.ddl_schema(columns)
        return catalog_table.table_schema(columns, self._given)

    @short_errors()
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader; the schema may be a subset of the source's columns."""
        self._given = catalog_table.options_of_read(schema, self._given)
        options = self._options
        is_filtering = options.is_pushing_filters and _is_filter_process()
        kind = FilteringReader if is_filtering else CordwoodReader
        return kind(options, _columns_in(schema))

    @short_errors()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # as Spark calls it
        """Return a reader of a stream; the schema may be a subset of the source's columns."""
        try:
            given = catalog_table.options_of_read(schema, self._given)
            options, columns = parse_local_stream_options(given), _columns_in(schema)
        except SettingError as error:
            return RejectedStreamReader(error)
        return CordwoodStreamReader(options, columns)

    @short_errors()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: FBT001, N802  # as above
        """Return the writer of a batch; Spark calls it before and after the batch's tasks."""
        from cordwood.spark.sink.data_writer import make_writer_of_stream  # noqa: PLC0415  # as below

        return make_writer_of_stream(self._given, schema, is_overwrite=overwrite)

    @short_errors()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001  # as Spark calls it
        """Return a writer; a sink has other options than the source."""
        from cordwood.spark.sink.data_writer import make_writer  # noqa: PLC0415  # 0.3 s, not for reads

        return make_writer(self._given, schema, is_overwrite=overwrite)

    def _schema_options(self) -> SourceOptions:
        """Return the options of a batch read or of a stream: Spark asks for the schema of both.

        The error of a stream is raised if the options have names that only streams have.
        """
        try:
            return self._options
        except SettingError as error:
            try:
                return parse_local_stream_options(self._given).source
            except SettingError as stream_error:
                raise (stream_error if stream_names_in(self._given) else error) from None


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
