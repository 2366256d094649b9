"""A v2 batch whose records are known by where they lie: they are copied, and hashed, as bytes."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from cordwood.compaction.key_hash import record_hash
from cordwood.core.binary import Buffer, append_varint, append_varlong, read_varint, read_varlong
from cordwood.records.batch import LOG_APPEND_TIME_BIT, RecordBatch
from cordwood.records.builder import filtered
from cordwood.records.v2_record import V2Record, wrap_int64


class PlacedRecord(NamedTuple):
    """A record, and where it begins in the uncompressed records."""

    start: int
    said: V2Record


class UnpackedBatch(NamedTuple):
    """A batch, its uncompressed records, and each of them."""

    batch: RecordBatch
    data: Buffer
    records: Sequence[PlacedRecord]

    @classmethod
    def of(cls, batch: RecordBatch) -> Self:
        """Unpack a batch, and check all its records."""
        data = batch.uncompressed()
        records, start = [], 0
        for said in batch.raw_records(data):
            records.append(PlacedRecord(start, said))
            start = said.end
        return cls(batch, data, records)

    def timestamp_of(self, record: PlacedRecord) -> int:
        """Return the time that consumers see."""
        if self.batch.attributes & LOG_APPEND_TIME_BIT:
            return self.batch.max_timestamp
        return wrap_int64(self.batch.base_timestamp + record.said.timestamp_delta)

    def hash_of(self, record: PlacedRecord) -> int:
        """Return what a record adds to the hash of a stream."""
        return record_hash(
            self.data[_key_at(self.data, record) : record.said.end],
            offset=self.batch.base_offset + record.said.offset_delta,
            timestamp=self.timestamp_of(record),
        )

    def filtered(
        self, kept: Sequence[PlacedRecord], *, new_horizon_ms: int | None = None
    ) -> bytearray:
        """Return the batch with these of its records alone, of which there is at least one."""
        raw = bytearray()
        for record in kept:
            data = self.data[record.start : record.said.end]
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


def _key_at(data: Buffer, record: PlacedRecord) -> int:
    """Return where the length of a record's key begins."""
    end = record.said.end
    _, at = read_varint(data, record.start, end)
    _, at = read_varlong(data, at + 1, end)
    return read_varint(data, at, end)[1]


def _append_shifted(out: bytearray, record: Buffer, shift: int) -> None:
    """Append a record with another time delta, and otherwise the bytes that it has."""
    _, start = read_varint(record, 0, len(record))
    delta, after = read_varlong(record, start + 1, len(record))
    shifted = bytearray()
    append_varlong(shifted, wrap_int64(delta + shift))
    append_varint(out, 1 + len(shifted) + len(record) - after)
    out += record[start : start + 1]
    out += shifted
    out += record[after:]
