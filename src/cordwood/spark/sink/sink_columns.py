"""Columns of the sink: those of spark-sql-kafka and `timestamp`, as columns of records.

    key, value   binary or string; null stays null, and without a column `key` all keys are null
    topic        string; not needed if the option `topic` is set
    partition    int; if null or absent, the key decides as in Kafka's producer
    timestamp    timestamp; if null or absent, the time of the write
    headers      array<struct<key: string, value: binary>>

The source also has `offset` and `timestampType`. The sink ignores them, so rows of the source can
be written unchanged. Any other column is rejected, because its values would be lost silently.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.core.types import NO_TIMESTAMP
from cordwood.records.record_encoder import (
    ANY_PARTITION,
    ByteColumn,
    HeaderColumn,
    RecordColumns,
    RecordEncoder,
)
from cordwood.spark.runtime.arrow_scalars import integer_scalar

_HEADERS: Final = "array<struct<key:string,value:binary>>"

#: Allowed types of each column, as `simpleString`.
_TYPES: Final = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "headers": (_HEADERS,),
}
_UNWRITTEN: Final = ("offset", "timestampType")

#: The length that stands for null.
_NULL: Final = integer_scalar(-1, pa.int64())
_ZERO: Final = integer_scalar(0, pa.int64())


class PartitionRows(NamedTuple):
    """The rows of one partition, in order; None if the producer may choose any partition."""

    partition: int | None
    rows: memoryview


def check_columns(types: Mapping[str, str], *, has_topic: bool) -> None:
    """Reject columns that cannot be written; `types` are names with `simpleString` types."""
    for name, found in types.items():
        if name in _UNWRITTEN:
            continue
        if name not in _TYPES:
            near = get_close_matches(name, _TYPES, n=1)
            hint = f"did you mean {near[0]}? Otherwise" if near else f"use {', '.join(_TYPES)}, or"
            raise _wrong(name, f"unknown column: {name}", f"{hint} drop({name!r})")
        if found not in _TYPES[name]:
            wanted = " or ".join(_TYPES[name])
            remedy = f'cast it: col("{name}").cast("{_TYPES[name][0]}")'
            raise _wrong(name, f"column {name} has type {found}, not {wanted}", remedy)
    if "value" not in types:
        raise _wrong("value", "missing column: value", "rename the column with the values to value")
    if not has_topic and "topic" not in types:
        raise _wrong("topic", "no topic is given", "set the option topic, or add a column topic")


def split_by_topic(
    batch: pa.RecordBatch, topic: str | None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each topic: `topic` for all rows if set, otherwise by the column."""
    if topic is not None:
        yield topic, batch
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise _invalid_row("topic", "null", "fill the nulls, or set the option topic")
    names = topics.unique()
    for name in names:
        rows = batch if len(names) == 1 else batch.filter(pc.equal(topics, name))
        yield name.as_py(), rows


def record_columns(batch: pa.RecordBatch, *, now_ms: int) -> RecordColumns:
    """Convert rows to columns of records."""
    return RecordColumns(
        timestamps=_times(batch, now_ms),
        keys=_byte_column(_array(batch, "key", pa.large_binary())),
        values=_byte_column(_array(batch, "value", pa.large_binary())),
        headers=_header_column(batch),
    )


def split_by_partition(
    batch: pa.RecordBatch, keys: ByteColumn, *, partitions: int, encoder: RecordEncoder
) -> Iterator[PartitionRows]:
    """Yield the rows of each partition of a topic with `partitions` partitions.

    Rows without partition and key are yielded apart from the others. If the topic has a single
    partition, they are not, so all rows stay in order.
    """
    given = _array(batch, "partition", pa.int64())
    if batch.num_rows and (pc.min(given).as_py() or 0) < 0:
        raise _invalid_row("partition", str(pc.min(given)), "use an existing partition, or null")
    chosen = given
    if given.null_count and partitions == 1:
        chosen = given.fill_null(_ZERO)
    elif given.null_count:
        buffer = pa.py_buffer(encoder.partitions(keys, partitions))
        by_key = pa.Array.from_buffers(pa.int64(), batch.num_rows, [None, buffer])
        chosen = pc.coalesce(given, by_key)
    order = pc.array_sort_indices(chosen)
    runs = pc.run_end_encode(chosen.take(order))
    rows = _numbers(order.cast(pa.int64()))
    ends = (0, *runs.run_ends.to_pylist())
    for partition, (first, end) in zip(runs.values.to_pylist(), pairwise(ends), strict=True):
        yield PartitionRows(None if partition == ANY_PARTITION else partition, rows[first:end])


def _times(batch: pa.RecordBatch, now_ms: int) -> memoryview:
    times = _array(batch, "timestamp", pa.timestamp("ms", "UTC")).cast(pa.int64())
    if batch.num_rows and (pc.min(times).as_py() or 0) < NO_TIMESTAMP:
        raise _invalid_row("timestamp", "a time before 1970", "correct it, or use null")
    return _numbers(times.fill_null(integer_scalar(now_ms, pa.int64())))


def _header_column(batch: pa.RecordBatch) -> HeaderColumn:
    if "headers" not in batch.schema.names:
        empty = _byte_column(pa.nulls(0, pa.large_binary()))
        zeros = _numbers(pa.repeat(_ZERO, batch.num_rows))
        return HeaderColumn(zeros, zeros, empty, empty)
    lists = batch.column("headers")
    keys, values = lists.values.field("key"), lists.values.field("value")
    if lists.values.null_count or keys.null_count:
        raise _invalid_row("headers", "a null header or header key", "remove such headers")
    return HeaderColumn(
        _numbers(lists.offsets[:-1].cast(pa.int64())),
        _numbers(pc.list_value_length(lists).cast(pa.int64()).fill_null(_ZERO)),
        _byte_column(keys.cast(pa.large_binary())),
        _byte_column(values.cast(pa.large_binary())),
    )


def _byte_column(array: pa.Array) -> ByteColumn:
    """Return views of an Arrow array with 64-bit offsets, without a copy."""
    _, offsets, data = array.buffers()
    return ByteColumn(
        _view(offsets).cast("q")[array.offset : array.offset + len(array)],
        _numbers(pc.binary_length(array).fill_null(_NULL)),
        _view(data),
    )


def _array(batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    """Return a column cast to a type; nulls if the column is absent."""
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, kind)
    return batch.column(name).cast(kind, safe=False)


def _numbers(array: pa.Array) -> memoryview:
    """Return a view of 64-bit integers without nulls, without a copy."""
    _, data = array.buffers()
    return _view(data).cast("q")[array.offset : array.offset + len(array)]


def _view(buffer: pa.Buffer | None) -> memoryview:
    return memoryview(b"" if buffer is None else buffer).cast("B")


def _wrong(column: str, problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key=column, remedy=remedy)


def _invalid_row(column: str, found: str, remedy: str) -> InvalidRecordError:
    return InvalidRecordError(f"column {column}: a row has {found}; {remedy}")
