"""The columns of the sink: spark-sql-kafka's, and the time, made into columns of records.

    key, value   binary or string; null is null, and without a column `key` all keys are
    topic        string, unless the option says it for all
    partition    int; where it is null, or there is none, the key decides as in Kafka's producer
    timestamp    timestamp; where it is null, or there is none, the time of writing
    headers      array<struct<key: string, value: binary>>

What the source reads beside them, `offset` and `timestampType`, is not written, so that what was
read can be written as it is. Any other column is refused: it would be lost without a word.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.core.types import NO_TIMESTAMP
from cordwood.records.encode import (
    ANY_PARTITION,
    ByteColumn,
    HeaderColumn,
    RecordColumns,
    RecordEncoder,
)
from cordwood.spark.scalars import number

_HEADERS: Final = "array<struct<key:string,value:binary>>"

#: What each column may be, in Spark's words.
_TYPES: Final = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "headers": (_HEADERS,),
}
_UNWRITTEN: Final = ("offset", "timestampType")

#: How long null is.
_NULL: Final = number(-1, pa.int64())
_ZERO: Final = number(0, pa.int64())


class Chosen(NamedTuple):
    """Rows that go to one partition, in their order; None: it may be any."""

    partition: int | None
    rows: memoryview


def ensure_columns(types: Mapping[str, str], *, has_topic: bool) -> None:
    """Refuse columns that cannot be written, each given with its type in Spark's words."""
    for name, found in types.items():
        if name in _UNWRITTEN:
            continue
        if name not in _TYPES:
            near = get_close_matches(name, _TYPES, n=1)
            hint = f"did you mean {near[0]}? Else" if near else "choose from " + ", ".join(_TYPES)
            raise _wrong(name, f"column {name} is none of a record's", f"{hint}; drop({name!r})")
        if found not in _TYPES[name]:
            wanted = " or ".join(_TYPES[name])
            remedy = f'cast it: col("{name}").cast("{_TYPES[name][0]}")'
            raise _wrong(name, f"column {name} is {found} and has to be {wanted}", remedy)
    if "value" not in types:
        raise _wrong("value", "there is no column value", "name what records hold value")
    if not has_topic and "topic" not in types:
        raise _wrong("topic", "no topic is given", "give the option topic, or a column of the name")


def by_topic(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each topic: the one for all if there is, else as their column says."""
    if topic is not None:
        yield topic, batch
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise _unsound("topic", "null", "fill it, or give the option topic")
    names = topics.unique()
    for name in names:
        rows = batch if len(names) == 1 else batch.filter(pc.equal(topics, name))
        yield name.as_py(), rows


def record_columns(batch: pa.RecordBatch, *, now_ms: int) -> RecordColumns:
    """Return what records are made of."""
    return RecordColumns(
        timestamps=_times(batch, now_ms),
        keys=_byte_column(_array(batch, "key", pa.large_binary())),
        values=_byte_column(_array(batch, "value", pa.large_binary())),
        headers=_header_column(batch),
    )


def by_partition(
    batch: pa.RecordBatch, keys: ByteColumn, *, partitions: int, encoder: RecordEncoder
) -> Iterator[Chosen]:
    """Yield the rows of each partition, of a topic with so many.

    Rows that may go anywhere are taken apart from those of a partition, so of a topic's one and
    only partition there are none: all its rows stay in their order.
    """
    given = _array(batch, "partition", pa.int64())
    if batch.num_rows and (pc.min(given).as_py() or 0) < 0:
        raise _unsound("partition", str(pc.min(given)), "choose one that there is, or null")
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
        yield Chosen(None if partition == ANY_PARTITION else partition, rows[first:end])


def _times(batch: pa.RecordBatch, now_ms: int) -> memoryview:
    times = _array(batch, "timestamp", pa.timestamp("ms", "UTC")).cast(pa.int64())
    if batch.num_rows and (pc.min(times).as_py() or 0) < NO_TIMESTAMP:
        raise _unsound("timestamp", "before 1970", "correct it, or let it be null")
    return _numbers(times.fill_null(number(now_ms, pa.int64())))


def _header_column(batch: pa.RecordBatch) -> HeaderColumn:
    if "headers" not in batch.schema.names:
        nothing = _byte_column(pa.nulls(0, pa.large_binary()))
        zeros = _numbers(pa.repeat(_ZERO, batch.num_rows))
        return HeaderColumn(zeros, zeros, nothing, nothing)
    lists = batch.column("headers")
    keys, values = lists.values.field("key"), lists.values.field("value")
    if lists.values.null_count or keys.null_count:
        raise _unsound("headers", "a null, or a key that is null,", "leave such headers out")
    return HeaderColumn(
        _numbers(lists.offsets[:-1].cast(pa.int64())),
        _numbers(pc.list_value_length(lists).cast(pa.int64()).fill_null(_ZERO)),
        _byte_column(keys.cast(pa.large_binary())),
        _byte_column(values.cast(pa.large_binary())),
    )


def _byte_column(array: pa.Array) -> ByteColumn:
    """Return bytes that Arrow has with offsets of 64 bits, where they lie."""
    _, offsets, data = array.buffers()
    return ByteColumn(
        _view(offsets).cast("q")[array.offset : array.offset + len(array)],
        _numbers(pc.binary_length(array).fill_null(_NULL)),
        _view(data),
    )


def _array(batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    """Return a column as one of this type, nulls where there is none."""
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, kind)
    return batch.column(name).cast(kind, safe=False)


def _numbers(array: pa.Array) -> memoryview:
    """Return numbers of 64 bits, without nulls, where they lie."""
    _, data = array.buffers()
    return _view(data).cast("q")[array.offset : array.offset + len(array)]


def _view(buffer: pa.Buffer | None) -> memoryview:
    return memoryview(b"" if buffer is None else buffer).cast("B")


def _wrong(column: str, problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key=column, remedy=remedy)


def _unsound(column: str, found: str, remedy: str) -> InvalidRecordError:
    return InvalidRecordError(f"a row with {found} in column {column}; {remedy}")
