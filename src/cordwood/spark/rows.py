"""The columns of the source: spark-sql-kafka's, in its order, made of the columns of records.

    key, value       binary
    topic            string
    partition        int
    offset           long
    timestamp        timestamp; where a producer gave none, one millisecond before 1970
    timestampType    int: -1 none, 0 CreateTime, 1 LogAppendTime
    headers          array<struct<key: string, value: binary>>, null where there are none;
                     only with `includeHeaders`

Spark takes a batch only if its Arrow types are exactly those of the schema.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.core.types import TopicPartition
from cordwood.spark.options import SourceOptions
from cordwood.spark.scalars import number, text

HEADERS: Final = "headers"
COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
EVERY: Final = (*COLUMNS, HEADERS)

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
    "timestamp": "timestamp_ltz",  # whatever the session calls a timestamp
    "timestampType": "int",
    HEADERS: "array<struct<key: string, value: binary>>",
}

#: The same types as Spark calls them when it shows a schema.
SHOWN_TYPES: Final = {
    **_SQL_TYPES,
    "offset": "bigint",
    "timestamp": "timestamp",
    HEADERS: "array<struct<key:string,value:binary>>",
}

#: What of a record each column is made of; those of a partition are made of nothing.
_SOURCES: Final = {
    "key": "key",
    "value": "value",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestampType": "timestamp_type",
    HEADERS: "headers",
}


def columns_of(options: SourceOptions) -> tuple[str, ...]:
    """Return the columns of a reading; SettingError names one that there is not."""
    if options.columns is not None:
        return known(options.columns)
    return EVERY if options.has_headers else COLUMNS


def known(columns: Sequence[str]) -> tuple[str, ...]:
    """Return columns that there are, each once; without any there would be no rows to count."""
    if not columns:
        raise _wrong_columns("no column is named")
    if len({*columns}) < len(columns):
        raise _wrong_columns(f"of {', '.join(columns)} one comes twice")
    spelling = {name.lower(): name for name in EVERY}
    for name in columns:
        if name not in EVERY:
            near = get_close_matches(name.lower(), spelling, n=1)
            remedy = f"did you mean {spelling[near[0]]}?" if near else None
            raise _wrong_columns(f"there is no column {name!r}", remedy)
    return tuple(columns)


def _wrong_columns(problem: str, remedy: str | None = None) -> SettingError:
    choice = f"choose from {', '.join(EVERY)}"
    return SettingError(problem, key="columns", remedy=remedy or choice)


def ddl(columns: Sequence[str]) -> str:
    """Return the schema of these columns as Spark is told it."""
    return ", ".join(f"{name} {_SQL_TYPES[name]}" for name in columns)


def arrow_schema(columns: Sequence[str]) -> pa.Schema:
    """Return the schema that batches of these columns have."""
    return pa.schema([pa.field(name, _TYPES[name]) for name in columns])


def record_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of records that these are made of; at least one, to count rows by."""
    wanted = tuple(_SOURCES[name] for name in columns if name in _SOURCES)
    return wanted or ("offset",)


def rows_of(
    batch: pa.RecordBatch, partition: TopicPartition, *, schema: pa.Schema
) -> pa.RecordBatch:
    """Return the rows of records of one partition."""
    arrays = [_array(batch, partition, name=field.name) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(batch: pa.RecordBatch, partition: TopicPartition, *, name: str) -> pa.Array:
    if name == "topic":
        return pa.repeat(text(partition.topic), batch.num_rows)
    if name == "partition":
        return pa.repeat(number(partition.partition, pa.int32()), batch.num_rows)
    array = batch.column(_SOURCES[name])
    if name == HEADERS:
        return _headers(array)
    if name == "timestamp":
        return _timestamps(batch, partition)
    return array if array.type == _TYPES[name] else array.cast(_TYPES[name])


def _timestamps(batch: pa.RecordBatch, partition: TopicPartition) -> pa.Array:
    """Return times in microseconds, which end 292,000 years from now, as Kafka's do not."""
    array = batch.column("timestamp")
    try:
        return array.cast(_TYPES["timestamp"])
    except pa.ArrowInvalid as error:
        latest = pc.max(array.cast(pa.int64()))
        where = "a record"
        if "offset" in batch.schema.names:
            at = pc.index(array.cast(pa.int64()), latest).as_py()
            where = f"at offset {batch.column('offset')[at]} a record"
        raise InvalidRecordError(
            f"{partition} has {where} of {latest} ms, and Spark no timestamp for that; leave the"
            " column timestamp out, or read what is before and behind the record"
        ) from error


def _headers(array: pa.ListArray) -> pa.ListArray:
    """Return lists that are null where they were empty."""
    pairs = array.values.cast(_HEADER)
    is_empty = pc.equal(pc.list_value_length(array), number(0, pa.int32()))
    return pa.ListArray.from_arrays(array.offsets, pairs, type=_TYPES[HEADERS], mask=is_empty)
