"""Values of decoded columns as Python objects, a chunk at a time."""

from collections.abc import Iterator
from itertools import pairwise, repeat
from typing import Final, cast

from cordwood.records.decoder import BinaryColumn, ColumnChunk, FixedColumn, HeadersColumn
from cordwood.records.record import NO_HEADERS, Header, TimestampType

_TYPES: Final = {int(kind): kind for kind in TimestampType}


def numbers_of(chunk: ColumnChunk, name: str) -> list[int]:
    """Return the values of a column of numbers."""
    numbers: list[int] = cast("FixedColumn", chunk.columns[name]).numbers.tolist()
    return numbers


def timestamp_types_of(chunk: ColumnChunk) -> Iterator[TimestampType]:
    """Return an iterator over the column `timestamp_type`."""
    return map(_TYPES.__getitem__, numbers_of(chunk, "timestamp_type"))


def bytes_of(column: BinaryColumn) -> list[bytes | None]:
    """Return the values of a column of bytes, row by row."""
    starts, data = column.starts.tolist(), column.data.tobytes()
    values: list[bytes | None] = [data[start:end] for start, end in pairwise(starts)]
    if column.nulls:
        bits = column.bits.tobytes()
        for row in range(len(values)):
            if not bits[row >> 3] >> (row & 7) & 1:
                values[row] = None
    return values


def headers_of(chunk: ColumnChunk) -> Iterator[tuple[Header, ...]]:
    """Return an iterator over the headers of each row, which does not end if none has any."""
    column = cast("HeadersColumn", chunk.columns["headers"])
    if not column.pairs:
        return repeat(NO_HEADERS)
    keys = (cast("bytes", key).decode() for key in bytes_of(column.keys))
    pairs = list(zip(keys, bytes_of(column.values), strict=True))
    starts = column.starts.tolist()
    return (tuple(pairs[start:end]) for start, end in pairwise(starts))
