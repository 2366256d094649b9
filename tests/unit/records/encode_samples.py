"""Rows as the columns that encoders take, and what their batches hold in the end."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from cordwood.records.batch_builder import BatchBuilder, EncodedRecords
from cordwood.records.record import NO_HEADERS, Header
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_encoder import ByteColumn, HeaderColumn, PlainEncoder, RecordColumns


class Row(NamedTuple):
    """One record to be."""

    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = NO_HEADERS


def numbers(*given: int) -> memoryview:
    """Numbers of 64 bits."""
    return memoryview(array("q", given))


def byte_column(values: Sequence[bytes | None]) -> ByteColumn:
    """A column of bytes, with something in front of the first."""
    data, starts = b"in front", []
    for value in values:
        starts.append(len(data))
        data += value or b""
    sizes = (-1 if value is None else len(value) for value in values)
    return ByteColumn(numbers(*starts), numbers(*sizes), data)


def columns_of(*rows: Row) -> RecordColumns:
    """The columns of rows."""
    headers = [header for row in rows for header in row.headers]
    counts = [len(row.headers) for row in rows]
    starts = (sum(counts[:number]) for number in range(len(rows)))
    return RecordColumns(
        timestamps=numbers(*(row.timestamp for row in rows)),
        keys=byte_column([row.key for row in rows]),
        values=byte_column([row.value for row in rows]),
        headers=HeaderColumn(
            numbers(*starts),
            numbers(*counts),
            byte_column([name.encode() for name, _ in headers]),
            byte_column([content for _, content in headers]),
        ),
    )


def encoded(*values: bytes, timestamp: int = 99) -> EncodedRecords:
    """A batch of values."""
    columns = columns_of(*(Row(timestamp, None, value) for value in values))
    (records,) = PlainEncoder().encode(columns, numbers(*range(len(values))), most_bytes=1_000)
    return records


def read_back(encoded: EncodedRecords) -> list[Row]:
    """The rows of a batch, as its consumer gets them."""
    batch = RecordBatch(BatchBuilder.of_encoded(encoded).build())
    return [
        Row(record.timestamp, record.key, record.value, record.headers)
        for record in batch.records()
    ]
