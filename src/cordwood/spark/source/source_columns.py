"""Columns of the source: those of spark-sql-kafka, in its order, from columns of records.

    key, value       binary
    topic            string
    partition        int
    offset           long
    timestamp        timestamp; without a producer's time, one millisecond before 1970
    timestampType    int: -1 none, 0 CreateTime, 1 LogAppendTime
    headers          array<struct<key: string, value: binary>>, null if a record has none;
                     only with `includeHeaders`

Spark accepts a batch only if its Arrow types are exactly those of the schema.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.core.types import TopicPartition
from cordwood.spark.runtime.arrow_scalars import integer_scalar, string_scalar
from cordwood.spark.source.source_options import SourceOptions

HEADERS: Final = "headers"
COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
ALL_COLUMNS: Final = (*COLUMNS, HEADERS)

_HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])

_TYPES: Final = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    HEADERS: pa.list_(_HEADER),
}

_SQL_TYPES: Final = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "long",
    "timestamp": "timestamp_ltz",  # independent of the session's timestamp type
    "timestampType": "int",
    HEADERS: "array<struct<key: string, value: binary>>",
}

#: The same types with the names of `simpleString`.
SHOWN_TYPES: Final = {
    **_SQL_TYPES,
    "offset": "bigint",
    "timestamp": "timestamp",
    HEADERS: "array<struct<key:string,value:binary>>",
}

#: The record column that each column is made from; topic and partition have none.
_SOURCES: Final = {
    "key": "key",
    "value": "value",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestampType": "timestamp_type",
    HEADERS: "headers",
}


def selected_columns(options: SourceOptions) -> tuple[str, ...]:
    """Return the columns of a read; raise SettingError for an unknown column."""
    if options.columns is not None:
        return check_columns(options.columns)
    return ALL_COLUMNS if options.has_headers else COLUMNS


def check_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns if all exist, each once; Spark cannot count rows without a column."""
    if not columns:
        raise _wrong_columns("columns: no column is given")
    duplicates = [name for name in columns if columns.count(name) > 1]
    if duplicates:
        raise _wrong_columns(f"duplicate column: {duplicates[0]}", "list each column once")
    spelling = {name.lower(): name for name in ALL_COLUMNS}
    for name in columns:
        if name not in ALL_COLUMNS:
            near = get_close_matches(name.lower(), spelling, n=1)
            remedy = f"did you mean {spelling[near[0]]}?" if near else None
            raise _wrong_columns(f"unknown column: {name!r}", remedy)
    return tuple(columns)


def _wrong_columns(problem: str, remedy: str | None = None) -> SettingError:
    choice = f"choose from {', '.join(ALL_COLUMNS)}"
    return SettingError(problem, key="columns", remedy=remedy or choice)


def ddl_schema(columns: Sequence[str]) -> str:
    """Return the DDL schema of these columns."""
    return ", ".join(f"{name} {_SQL_TYPES[name]}" for name in columns)


def arrow_schema(columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of these columns."""
    return pa.schema([pa.field(name, _TYPES[name]) for name in columns])


def record_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the record columns that these columns need; at least one, for the row count."""
    wanted = tuple(_SOURCES[name] for name in columns if name in _SOURCES)
    return wanted or ("offset",)


def rows_of(
    batch: pa.RecordBatch, partition: TopicPartition, *, schema: pa.Schema
) -> pa.RecordBatch:
    """Convert records of one partition to rows."""
    arrays = [_array(batch, partition, name=field.name) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(batch: pa.RecordBatch, partition: TopicPartition, *, name: str) -> pa.Array:
    if name == "topic":
        return pa.repeat(string_scalar(partition.topic), batch.num_rows)
    if name == "partition":
        return pa.repeat(integer_scalar(partition.partition, pa.int32()), batch.num_rows)
    array = batch.column(_SOURCES[name])
    if name == HEADERS:
        return _headers(array)
    if name == "timestamp":
        return _timestamps(batch, partition)
    return array if array.type == _TYPES[name] else array.cast(_TYPES[name])


def _timestamps(batch: pa.RecordBatch, partition: TopicPartition) -> pa.Array:
    """Return timestamps in microseconds; Kafka's milliseconds have a greater range."""
    array = batch.column("timestamp")
    try:
        return array.cast(_TYPES["timestamp"])
    except pa.ArrowInvalid as error:
        latest = pc.max(array.cast(pa.int64()))
        where = "a record"
        if "offset" in batch.schema.names:
            at = pc.index(array.cast(pa.int64()), latest).as_py()
            where = f"the record at offset {batch.column('offset')[at]}"
        raise InvalidRecordError(
            f"{partition}: {where} has timestamp {latest} ms, which is out of Spark's range; read"
            " without the column timestamp, or read the offsets before and after the record"
        ) from error


def _headers(array: pa.ListArray) -> pa.ListArray:
    """Return lists with null in place of an empty list."""
    pairs = array.values.cast(_HEADER)
    is_empty = pc.equal(pc.list_value_length(array), integer_scalar(0, pa.int32()))
    return pa.ListArray.from_arrays(array.offsets, pairs, type=_TYPES[HEADERS], mask=is_empty)
