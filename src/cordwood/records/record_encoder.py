"""Encoding of record columns into batches to send, the reverse of `columns`.

    keys ──► a partition for each ──► rows of one partition, in order ──► batches of records

A row is identified by its number, so that rows of one partition are read from their columns in
place. Offsets in a batch count from 0, times from its first record's. The producer adds the batch
header. This is the plain twin of `kernels.record_encoder`.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import Buffer
from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_builder import EncodedRecords
from cordwood.records.murmur2 import partition_of_key
from cordwood.records.record import Header
from cordwood.records.v2_record import append_v2_record, wrap_int64

#: The partition of a record without a key: the producer chooses.
ANY_PARTITION: Final = -1


class ByteColumn(NamedTuple):
    """Bytes per row: `sizes[row]` of them from `starts[row]` on; a negative size is null."""

    starts: memoryview
    sizes: memoryview
    data: Buffer

    def at(self, row: int) -> bytes | None:
        """Return the bytes of a row."""
        start, size = self.starts[row], self.sizes[row]
        if size > 0 and not 0 <= start <= len(self.data) - size:
            raise outside(row)
        return None if size < 0 else bytes(self.data[start : start + size])


class HeaderColumn(NamedTuple):
    """Headers per row: `counts[row]` of them from number `starts[row]` on."""

    starts: memoryview
    counts: memoryview
    keys: ByteColumn
    values: ByteColumn

    def at(self, row: int) -> tuple[Header, ...]:
        """Return the headers of a row."""
        start, count = self.starts[row], self.counts[row]
        if count > 0 and not 0 <= start <= len(self.keys.sizes) - count:
            raise outside(row)
        return tuple(
            ((self.keys.at(each) or b"").decode(), self.values.at(each))
            for each in range(start, start + count)
        )


class RecordColumns(NamedTuple):
    """The columns of records to encode; numbers have 64 bits, in native order."""

    timestamps: memoryview
    keys: ByteColumn
    values: ByteColumn
    headers: HeaderColumn


class RecordEncoder(Protocol):
    """An encoder of columns into records; not thread-safe."""

    def partitions(self, keys: ByteColumn, count: int) -> Buffer:
        """Return the partition of each key among `count`, as 64 bits; ANY_PARTITION for null."""

    def encode(
        self, columns: RecordColumns, rows: memoryview, *, most_bytes: int
    ) -> Iterator[EncodedRecords]:
        """Yield all of these rows, in their order, in batches of at most `most_bytes`.

        A larger record is a batch of its own. Raises InvalidRecordError where a row, or a range of
        it, is outside the columns; earlier batches have been yielded.
        """


class PlainEncoder:
    """An encoder that works record by record."""

    __slots__ = ()

    def partitions(self, keys: ByteColumn, count: int) -> Buffer:
        """Return the partition of each key; see `RecordEncoder`."""
        assert count > 0, "a topic has a partition"
        found = memoryview(bytearray(8 * len(keys.sizes))).cast("q")
        for row in range(len(keys.sizes)):
            key = keys.at(row)
            found[row] = ANY_PARTITION if key is None else partition_of_key(key, count)
        return found

    def encode(
        self, columns: RecordColumns, rows: memoryview, *, most_bytes: int
    ) -> Iterator[EncodedRecords]:
        """Yield batches of rows; see `RecordEncoder`."""
        first = 0
        while first < len(rows):
            raw = bytearray()
            base = newest = columns.timestamps[rows[first]]
            for place in range(first, len(rows)):
                row = rows[place]
                size = len(raw)
                time = columns.timestamps[row]
                append_v2_record(
                    raw,
                    timestamp_delta=wrap_int64(time - base),
                    offset_delta=place - first,
                    key=columns.keys.at(row),
                    value=columns.values.at(row),
                    headers=columns.headers.at(row),
                )
                if size and len(raw) > most_bytes:
                    del raw[size:]
                    break
                newest = max(newest, time)
            else:
                place = len(rows)
            yield EncodedRecords(bytes(raw), place - first, base, newest)
            first = place


def outside(row: int) -> InvalidRecordError:
    """Return the error of a row, or of its bytes, outside the columns."""
    return InvalidRecordError(
        "a row that names what lies outside its columns", expected="a row of them", found=row
    )
