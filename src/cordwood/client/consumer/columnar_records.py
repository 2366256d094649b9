"""Consumed records built from decoded columns.

The records equal those of `CompletedFetch.records`, several times as fast with kernels. Loading
them takes time and memory, so a consumer loads them on another thread after it has read PAYS_FROM
records. The decoder filters records before the position, control records and aborted ones.
"""

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Final, cast

from cordwood.client.consumer.completed_fetch import CompletedFetch, ConsumedRecord
from cordwood.client.serializers import Deserializers, ReadK, ReadV, as_is
from cordwood.records.column_values import bytes_of, headers_of, numbers_of, timestamp_types_of
from cordwood.records.decoder import BinaryColumn, ColumnChunk, Decoder, ReadRequest, Selection

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
        numbers_of(chunk, "offset"),
        numbers_of(chunk, "timestamp"),
        timestamp_types_of(chunk),
        _read(chunk, "key", read.key),
        _read(chunk, "value", read.value),
        headers_of(chunk),
        numbers_of(chunk, "partition_leader_epoch"),
        strict=False,
    )
    return map(ConsumedRecord._make, columns)


def _read(chunk: ColumnChunk, name: str, read: Callable[[bytes], ReadV]) -> Iterator[ReadV | None]:
    column = cast("BinaryColumn", chunk.columns[name])
    values = bytes_of(column)
    if read is as_is:
        return cast("Iterator[ReadV | None]", iter(values))
    if not column.nulls:
        return map(read, cast("list[bytes]", values))
    return (None if value is None else read(value) for value in values)
