"""A buffer of batches as Arrow record batches: the one module of this package that knows Arrow.

It takes the decoder as an argument, since the fast one manages a cache on disk and this module
decides without touching any. No bytes are copied here: a column is a stretch of the chunk it is in.

    offset                  int64
    timestamp               timestamp[ms, UTC]; -1 where a producer gave none
    timestamp_type          int8: -1 none (v0), 0 CreateTime, 1 LogAppendTime
    key, value              binary, null where Kafka's is null; as views binary_view
    headers                 list<struct<key: string, value: binary>>
    partition_leader_epoch  int32, -1 where none is kept; the same holds for the next three
    producer_id             int64
    producer_epoch          int16
    sequence                int32
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from cordwood.core.binary import Buffer
from cordwood.records.chunk import (
    COLUMNS,
    Binary,
    Chunk,
    Column,
    Decoder,
    Fixed,
    Headers,
    Request,
    Views,
)

_HEADER_KEY: Final = pa.field("key", pa.string(), nullable=False)
_HEADER_VALUE: Final = pa.field("value", pa.binary())
_HEADER: Final = pa.field("item", pa.struct([_HEADER_KEY, _HEADER_VALUE]), nullable=False)

_FIELDS: Final = {
    "offset": pa.field("offset", pa.int64(), nullable=False),
    "timestamp": pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
    "timestamp_type": pa.field("timestamp_type", pa.int8(), nullable=False),
    "key": pa.field("key", pa.binary()),
    "value": pa.field("value", pa.binary()),
    "headers": pa.field("headers", pa.list_(_HEADER), nullable=False),
    "partition_leader_epoch": pa.field("partition_leader_epoch", pa.int32(), nullable=False),
    "producer_id": pa.field("producer_id", pa.int64(), nullable=False),
    "producer_epoch": pa.field("producer_epoch", pa.int16(), nullable=False),
    "sequence": pa.field("sequence", pa.int32(), nullable=False),
}


def schema(columns: Sequence[str] = COLUMNS, *, is_view: bool = False) -> pa.Schema:
    """Return the schema of these columns."""
    fields = [_FIELDS[name] for name in columns]
    if is_view:
        fields = [
            field.with_type(pa.binary_view()) if field.type == pa.binary() else field
            for field in fields
        ]
    return pa.schema(fields)


def read_columns(
    buffer: Buffer, decoder: Decoder, *, request: Request | None = None
) -> Iterator[pa.RecordBatch]:
    """Return an iterator over the records of a buffer, in chunks.

    The buffer is to keep its bytes while the iterator lives, and with views as long as any of the
    record batches does. An unsound batch raises after all rows before it have been yielded.

    Whoever still holds a record batch when asking for the next one, as the variable of a `for` loop
    does, has the decoder use a second chunk; the two then take turns.
    """
    request = request or Request()
    target = schema(request.columns, is_view=request.is_view)
    # A map keeps no chunk while the next one is made, so that its memory can be used for that.
    return map(partial(_record_batch, target), decoder.decode(buffer, request))


def read_table(buffer: Buffer, decoder: Decoder, *, request: Request | None = None) -> pa.Table:
    """Return the records of a buffer as one table, which may have no rows; see `read_columns`."""
    request = request or Request()
    target = schema(request.columns, is_view=request.is_view)
    return pa.Table.from_batches(read_columns(buffer, decoder, request=request), target)


def _record_batch(target: pa.Schema, chunk: Chunk) -> pa.RecordBatch:
    arrays = [_array(chunk.columns[field.name], chunk.rows, field.type) for field in target]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _array(column: Column, rows: int, kind: pa.DataType) -> pa.Array:
    """Wrap a column's stretches of bytes, without copying them."""
    match column:
        case Fixed():
            return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(column.numbers)])
        case Binary():
            array = _binary(column, rows, pa.binary())
            return array if kind == pa.binary() else array.cast(kind)
        case Views():
            buffers = [_validity(column), pa.py_buffer(column.views)]
            buffers += [pa.py_buffer(data) for data in column.buffers]
            return pa.Array.from_buffers(kind, rows, buffers, null_count=column.nulls)
        case Headers():
            return _headers(column, rows, kind)


def _binary(column: Binary, rows: int, kind: pa.DataType) -> pa.Array:
    buffers = [_validity(column), pa.py_buffer(column.starts), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind, rows, buffers, null_count=column.nulls)


def _headers(column: Headers, rows: int, kind: pa.DataType) -> pa.Array:
    pairs = pa.StructArray.from_arrays(
        [
            _binary(column.keys, column.pairs, _HEADER_KEY.type),
            _binary(column.values, column.pairs, _HEADER_VALUE.type),
        ],
        fields=[_HEADER_KEY, _HEADER_VALUE],
    )
    buffers = [None, pa.py_buffer(column.starts)]
    return pa.Array.from_buffers(kind, rows, buffers, null_count=0, children=[pairs])


def _validity(column: Binary | Views) -> pa.Buffer | None:
    """The bits of a column that has nulls; without nulls it needs none."""
    return pa.py_buffer(column.bits) if column.nulls else None
