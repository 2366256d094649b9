"""Buffers of batches as Arrow record batches; the only module of this package that imports Arrow.

It takes the decoder as an argument, since the fast one manages a cache on disk and this module is
pure. No bytes are copied here: a column is a slice of its chunk.

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

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from cordwood.core.binary import Buffer
from cordwood.records.decoder import (
    COLUMNS,
    BinaryColumn,
    Column,
    ColumnChunk,
    Decoder,
    FixedColumn,
    HeadersColumn,
    ReadRequest,
    ViewColumn,
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
    buffer: Buffer, decoder: Decoder, *, request: ReadRequest | None = None
) -> Iterator[pa.RecordBatch]:
    """Return an iterator over the records of a buffer, in chunks.

    The buffer must keep its bytes while the iterator lives, and with views while any of the record
    batches lives. An invalid batch raises an error after all earlier rows have been yielded.

    A caller that still holds a record batch when it requests the next one, as the variable of a
    `for` loop does, makes the decoder use a second chunk; the two then alternate.
    """
    request = request or ReadRequest()
    target = schema(request.columns, is_view=request.is_view)
    # `map` drops each chunk before it makes the next one, so the next one can reuse its memory.
    return map(partial(_record_batch, target), decoder.decode(buffer, request))


def read_table(buffer: Buffer, decoder: Decoder, *, request: ReadRequest | None = None) -> pa.Table:
    """Return the records of a buffer as one table, which may be empty; see `read_columns`."""
    request = request or ReadRequest()
    target = schema(request.columns, is_view=request.is_view)
    return pa.Table.from_batches(read_columns(buffer, decoder, request=request), target)


def table_of(batches: Iterable[pa.RecordBatch], columns: Sequence[str] | None = None) -> pa.Table:
    """Return record batches of these columns, by default all, as one table, which may be empty."""
    return pa.Table.from_batches(batches, schema(COLUMNS if columns is None else columns))


def _record_batch(target: pa.Schema, chunk: ColumnChunk) -> pa.RecordBatch:
    arrays = [_array(chunk.columns[field.name], chunk.rows, field.type) for field in target]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _array(column: Column, rows: int, kind: pa.DataType) -> pa.Array:
    """Wrap a column's buffers without copying them."""
    match column:
        case FixedColumn():
            return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(column.numbers)])
        case BinaryColumn():
            array = _binary(column, rows, pa.binary())
            return array if kind == pa.binary() else array.cast(kind)
        case ViewColumn():
            buffers = [_validity(column), pa.py_buffer(column.views)]
            buffers += [pa.py_buffer(data) for data in column.buffers]
            return pa.Array.from_buffers(kind, rows, buffers, null_count=column.nulls)
        case HeadersColumn():
            return _headers(column, rows, kind)


def _binary(column: BinaryColumn, rows: int, kind: pa.DataType) -> pa.Array:
    buffers = [_validity(column), pa.py_buffer(column.starts), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind, rows, buffers, null_count=column.nulls)


def _headers(column: HeadersColumn, rows: int, kind: pa.DataType) -> pa.Array:
    pairs = pa.StructArray.from_arrays(
        [
            _binary(column.keys, column.pairs, _HEADER_KEY.type),
            _binary(column.values, column.pairs, _HEADER_VALUE.type),
        ],
        fields=[_HEADER_KEY, _HEADER_VALUE],
    )
    buffers = [None, pa.py_buffer(column.starts)]
    return pa.Array.from_buffers(kind, rows, buffers, null_count=0, children=[pairs])


def _validity(column: BinaryColumn | ViewColumn) -> pa.Buffer | None:
    """Return the validity bits of a column with nulls; without nulls None."""
    return pa.py_buffer(column.bits) if column.nulls else None
