"""Consumed records built from decoded columns.

The records equal those of `CompletedFetch.records`, several times as fast with kernels. Loading
them takes time and memory, so a consumer loads them on another thread after it has read PAYS_FROM
records. The decoder filters records before the position, control records and aborted ones.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise, repeat
from typing import Final, cast

from cordwood.client.consumer.completed_fetch import CompletedFetch, ConsumedRecord
from cordwood.client.serializers import Deserializers, ReadK, ReadV, as_is
from cordwood.records.decoder import (
    BinaryColumn,
    ColumnChunk,
    Decoder,
    FixedColumn,
    HeadersColumn,
    ReadRequest,
    Selection,
)
from cordwood.records.record import NO_HEADERS, Header, TimestampType

PAYS_FROM: Final = 100_000

_COLUMNS: Final = (
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "partition_leader_epoch",
)
_TYPES: Final = {int(kind): kind for kind in TimestampType}


def records_from_columns(
    records: CompletedFetch, read: Deserializers[ReadK, ReadV], *, decoder: Decoder
) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
    """Yield the records; an error comes after all records before it."""
    request = ReadRequest(
        columns=_COLUMNS,
        selection=Selection(first_offset=records.offset, aborted=records.aborted),
        check_crc=False,  # `completed_fetch` has verified them
    )
    for chunk in decoder.decode(records.data, request):
        yield from _rows(chunk, records, read)


def _rows(
    chunk: ColumnChunk, records: CompletedFetch, read: Deserializers[ReadK, ReadV]
) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
    """Return an iterator that creates each record on demand."""
    topic, partition = records.partition
    columns = zip(
        repeat(topic),
        repeat(partition),
        _numbers(chunk, "offset"),
        _numbers(chunk, "timestamp"),
        map(_TYPES.__getitem__, _numbers(chunk, "timestamp_type")),
        _read(chunk, "key", read.key),
        _read(chunk, "value", read.value),
        _headers(chunk),
        _numbers(chunk, "partition_leader_epoch"),
        strict=False,
    )
    return map(ConsumedRecord._make, columns)


def _numbers(chunk: ColumnChunk, name: str) -> list[int]:
    numbers: list[int] = cast("FixedColumn", chunk.columns[name]).numbers.tolist()
    return numbers


def _read(chunk: ColumnChunk, name: str, read: Callable[[bytes], ReadV]) -> Iterator[ReadV | None]:
    column = cast("BinaryColumn", chunk.columns[name])
    values = _values(column)
    if read is as_is:
        return cast("Iterator[ReadV | None]", iter(values))
    if not column.nulls:
        return map(read, cast("list[bytes]", values))
    return (None if value is None else read(value) for value in values)


def _values(column: BinaryColumn) -> list[bytes | None]:
    """Return a column's values, row by row."""
    starts, data = column.starts.tolist(), column.data.tobytes()
    values: list[bytes | None] = [data[start:end] for start, end in pairwise(starts)]
    if column.nulls:
        bits = column.bits.tobytes()
        for row in range(len(values)):
            if not bits[row >> 3] >> (row & 7) & 1:
                values[row] = None
    return values


def _headers(chunk: ColumnChunk) -> Iterator[tuple[Header, ...]]:
    column = cast("HeadersColumn", chunk.columns["headers"])
    if not column.pairs:
        return repeat(NO_HEADERS)
    keys = (cast("bytes", key).decode() for key in _values(column.keys))
    pairs = list(zip(keys, _values(column.values), strict=True))
    starts = column.starts.tolist()
    return (tuple(pairs[start:end]) for start, end in pairwise(starts))
