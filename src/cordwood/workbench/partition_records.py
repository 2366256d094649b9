"""Records of a partition as Python objects, built from decoded columns."""

from collections.abc import Iterator
from typing import Final, cast

from cordwood.records.column_values import bytes_of, headers_of, numbers_of, timestamp_types_of
from cordwood.records.decoder import BinaryColumn, ColumnChunk
from cordwood.records.record import Record

RECORD_COLUMNS: Final = (
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "sequence",
)


def records_of(chunk: ColumnChunk) -> Iterator[Record]:
    """Return an iterator that creates each record of a chunk on demand."""
    return map(
        Record,
        numbers_of(chunk, "offset"),
        numbers_of(chunk, "timestamp"),
        timestamp_types_of(chunk),
        bytes_of(cast("BinaryColumn", chunk.columns["key"])),
        bytes_of(cast("BinaryColumn", chunk.columns["value"])),
        headers_of(chunk),
        numbers_of(chunk, "sequence"),
    )
