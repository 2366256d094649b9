"""A v2 batch with the byte ranges of its records, to copy and hash records as bytes."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from cordwood.compaction.key_hash import record_hash
from cordwood.core.binary import Buffer, append_varint, append_varlong, read_varint, read_varlong
from cordwood.records.batch_builder import filtered
from cordwood.records.record_batch import LOG_APPEND_TIME_BIT, RecordBatch
from cordwood.records.v2_record import V2Record, body_position, wrap_int64


class PlacedRecord(NamedTuple):
    """A record, and its position in the uncompressed records."""

    start: int
    record: V2Record


class UnpackedBatch(NamedTuple):
    """A batch, its uncompressed records, and each of them."""

    batch: RecordBatch
    data: Buffer
    records: Sequence[PlacedRecord]

    @classmethod
    def of(cls, batch: RecordBatch) -> Self:
        """Decompress a batch, and validate all its records."""
        data = batch.uncompressed()
        records, start = [], 0
        for record in batch.raw_records(data):
            records.append(PlacedRecord(start, record))
            start = record.end
        return cls(batch, data, records)

    def timestamp_of(self, placed: PlacedRecord) -> int:
        """Return the timestamp that consumers see."""
        if self.batch.attributes & LOG_APPEND_TIME_BIT:
            return self.batch.max_timestamp
        return wrap_int64(self.batch.base_timestamp + placed.record.timestamp_delta)

    def hash_of(self, placed: PlacedRecord) -> int:
        """Return the hash of a record, as an element of the stream hash."""
        return record_hash(
            self.data[
                body_position(self.data, placed.start, placed.record.end) : placed.record.end
            ],
            offset=self.batch.base_offset + placed.record.offset_delta,
            timestamp=self.timestamp_of(placed),
        )

    def filtered(
        self, kept: Sequence[PlacedRecord], *, new_horizon_ms: int | None = None
    ) -> bytearray:
        """Return the batch with some of its records, at least one.

        A new horizon replaces the base timestamp, so time deltas are shifted by the difference.
        """
        raw = bytearray()
        for placed in kept:
            data = self.data[placed.start : placed.record.end]
            if new_horizon_ms is None:
                raw += data
            else:
                _append_shifted(raw, data, self.batch.base_timestamp - new_horizon_ms)
        max_timestamp = self.batch.max_timestamp
        if not self.batch.attributes & LOG_APPEND_TIME_BIT:
            max_timestamp = max(-1, *map(self.timestamp_of, kept))
        return filtered(
            self.batch,
            raw,
            count=len(kept),
            max_timestamp=max_timestamp,
            new_horizon_ms=new_horizon_ms,
        )


def _append_shifted(out: bytearray, record: Buffer, shift: int) -> None:
    """Append a record with a shifted time delta, otherwise unchanged."""
    _, start = read_varint(record, 0, len(record))
    delta, after = read_varlong(record, start + 1, len(record))
    shifted = bytearray()
    append_varlong(shifted, wrap_int64(delta + shift))
    append_varint(out, 1 + len(shifted) + len(record) - after)
    out += record[start : start + 1]
    out += shifted
    out += record[after:]
