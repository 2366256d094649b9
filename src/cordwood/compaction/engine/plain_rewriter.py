"""The plain twin of rewriters: the retained part of each batch (Kafka: `Cleaner.cleanInto`).

    data      DELETE                    nothing; with RETAIN_EMPTY the header alone
              all records retained      unchanged, unless a delete horizon has to be set
              some records retained     filtered: their bytes unchanged, and a header with a new
                                        count and checksum; under CreateTime also a new maximum
                                        timestamp
              no record retained        nothing; with RETAIN_EMPTY the header alone
    marker    DELETE                    nothing; with RETAIN_EMPTY the header alone
              NEEDS_HORIZON             with the new horizon
              else                      unchanged

A record is retained if it is the latest of its key. A tombstone is retained only until the delete
horizon (`plan.delete_horizon`).

A new horizon replaces the base timestamp, so time deltas are shifted by the difference. Other
batches keep their base timestamp, even if the record that it came from is gone. Compressed batches
are compressed again with the same codec, at its default level. Batches of the old formats become
v2, from the first to the last retained record; Kafka 4 does so too, because it writes only v2.
"""

from typing import Final

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.engine.segment_chunk import NumberedBatch, SegmentChunk, numbered_batches
from cordwood.compaction.engine.unpacked_batch import UnpackedBatch
from cordwood.compaction.key_hash import stream_with
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.plan.delete_horizon import (
    HorizonState,
    horizon_state,
    is_legacy_horizon_reached,
    new_delete_horizon_ms,
)
from cordwood.core.binary import Buffer
from cordwood.records.batch_builder import emptied
from cordwood.records.format_conversion import up_convert, up_convert_emptied
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record_batch import RecordBatch

_NOTHING: Final = b""


class PlainRewriter:
    """A rewriter for one plan."""

    __slots__ = ("_legacy_horizon_ms", "_new_horizon_ms", "_now_ms")

    def __init__(self, plan: CleaningPlan) -> None:
        self._now_ms = plan.now_ms
        self._new_horizon_ms = new_delete_horizon_ms(plan)
        self._legacy_horizon_ms = plan.legacy_horizon_ms

    def rewrite(self, chunk: SegmentChunk, marks: Marks, *, counts: PassCounts) -> bytearray:
        out = bytearray()
        for numbered in numbered_batches(chunk):
            batch = numbered.batch
            if isinstance(batch, LegacyBatch):
                is_expired = is_legacy_horizon_reached(chunk.modified_ms, self._legacy_horizon_ms)
                record_filter = _RecordFilter(marks, counts, drops_tombstones=is_expired)
                retained = self._legacy(batch, numbered, record_filter)
            elif numbered.retention & BatchRetention.CONTROL:
                retained = self._marker(batch, numbered.retention, counts)
            else:
                horizon = horizon_state(batch.delete_horizon_ms, self._now_ms)
                is_expired = horizon is HorizonState.REACHED
                record_filter = _RecordFilter(marks, counts, drops_tombstones=is_expired)
                retained = self._data(batch, numbered, record_filter, horizon=horizon)
            counts.batches_read += 1
            counts.bytes_read += batch.size
            counts.batches_kept += len(retained) > 0
            counts.bytes_kept += len(retained)
            out += retained
        return out

    def _marker(self, batch: RecordBatch, retention: BatchRetention, counts: PassCounts) -> Buffer:
        if retention & BatchRetention.DELETE:
            counts.markers_dropped += batch.count
            return _emptied(batch, retention, counts)
        counts.markers_kept += batch.count
        if retention & BatchRetention.NEEDS_HORIZON:
            unpacked = UnpackedBatch.of(batch)
            return unpacked.filtered(unpacked.records, new_horizon_ms=self._new_horizon_ms)
        counts.batches_copied += 1
        return batch.data

    def _data(
        self,
        batch: RecordBatch,
        numbered: NumberedBatch,
        record_filter: "_RecordFilter",
        *,
        horizon: HorizonState,
    ) -> Buffer:
        numbers = record_filter.retained_numbers(numbered, batch.count)
        if not numbers:
            return _emptied(batch, numbered.retention, record_filter.counts)
        unpacked = UnpackedBatch.of(batch)
        kept = [unpacked.records[number - numbered.first_number] for number in numbers]
        for record in kept:
            record_filter.add_to_stream(unpacked.hash_of(record))
        if record_filter.has_tombstone and horizon is HorizonState.UNSET:
            return unpacked.filtered(kept, new_horizon_ms=self._new_horizon_ms)
        if len(kept) < batch.count:
            return unpacked.filtered(kept)
        record_filter.counts.batches_copied += 1
        return batch.data

    def _legacy(
        self, batch: LegacyBatch, numbered: NumberedBatch, record_filter: "_RecordFilter"
    ) -> Buffer:
        records = list(batch.records())
        kept = [
            records[number - numbered.first_number]
            for number in record_filter.retained_numbers(numbered, len(records))
        ]
        if kept:
            horizon = self._new_horizon_ms if record_filter.has_tombstone else None
            converted = RecordBatch(up_convert(batch, kept, delete_horizon_ms=horizon))
            unpacked = UnpackedBatch.of(converted)
            for record in unpacked.records:
                record_filter.add_to_stream(unpacked.hash_of(record))
            return converted.data
        if numbered.retention & BatchRetention.RETAIN_EMPTY:
            record_filter.counts.batches_emptied += 1
            return up_convert_emptied(batch, base_offset=records[0].offset)
        return _NOTHING


class _RecordFilter:
    """The record filter of one data batch, and its counts (Kafka: `RecordFilter`)."""

    __slots__ = ("_drops_tombstones", "_marks", "counts", "has_tombstone")

    def __init__(self, marks: Marks, counts: PassCounts, *, drops_tombstones: bool) -> None:
        self.counts = counts
        self.has_tombstone = False
        self._marks = marks
        self._drops_tombstones = drops_tombstones

    def retained_numbers(self, numbered: NumberedBatch, count: int) -> list[int]:
        """Return the numbers of the retained records."""
        counts, first = self.counts, numbered.first_number
        counts.records_read += count
        if numbered.retention & BatchRetention.DELETE:
            counts.aborted += count
            return []
        kept = [number for number in range(first, first + count) if self._is_retained(number)]
        counts.records_kept += len(kept)
        return kept

    def add_to_stream(self, hashed: int) -> None:
        """Add the hash of a retained record to the stream hash."""
        self.counts.stream = stream_with(self.counts.stream, hashed)

    def _is_retained(self, number: int) -> bool:
        counts = self.counts
        if not self._marks.is_latest(number):
            counts.superseded += 1
            return False
        if not self._marks.is_tombstone(number):
            return True
        if self._drops_tombstones:
            counts.tombstones_dropped += 1
            return False
        counts.tombstones_kept += 1
        self.has_tombstone = True
        return True


def _emptied(batch: RecordBatch, retention: BatchRetention, counts: PassCounts) -> Buffer:
    """Return a batch without its records: nothing, or its header with RETAIN_EMPTY."""
    if not retention & BatchRetention.RETAIN_EMPTY:
        return _NOTHING
    counts.batches_emptied += 1
    return emptied(batch)
