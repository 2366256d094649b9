"""The plain twin of rewriters: what stays of each batch, and in which bytes.

    data      dropped by its fate       nothing
              all records stay          as it is, unless a horizon has to be set
              some records stay         filtered: their bytes as they lie, the header but for count
                                        and checksum; the latest time too, if producers set times
              no record stays           nothing; a header alone if it is kept if empty
    marker    dropped by its fate       nothing; a header alone if it is kept if empty
              it needs a horizon        with it
              else                      as it is

A record stays if it is the latest of its key, and, when it is a tombstone, as long as it is
protected: in v2 until the batch's horizon, without one in any case; in old formats while the
segment was changed after the plan's horizon for them. The first pass that leaves a tombstone in a
batch sets the batch's horizon, so a tombstone sees two passes at least.

A new horizon takes the place of the base timestamp, so time deltas are shifted by the difference;
in other batches the base timestamp is what it was, even if its record is gone. What is compressed
is compressed again with its codec, at the codec's default level. Batches of the old formats become
v2, as Kafka's do since it writes no other format: from the first to the last record that stays.
"""

from typing import Final

from cordwood.compaction.engine import Chunk, Counts
from cordwood.compaction.fated import FatedBatch, fated_batches
from cordwood.compaction.fates import Fate
from cordwood.compaction.key_hash import stream_with
from cordwood.compaction.marks import Marks
from cordwood.compaction.plan import CleaningPlan
from cordwood.compaction.unpacked import UnpackedBatch
from cordwood.core.binary import Buffer
from cordwood.records.batch import RecordBatch
from cordwood.records.builder import emptied
from cordwood.records.convert import up_convert_emptied, up_convert_kept
from cordwood.records.legacy import LegacyBatch

_GONE: Final = b""


class PlainRewriter:
    """Leaves what a plan leaves."""

    __slots__ = ("_legacy_horizon_ms", "_new_horizon_ms", "_now_ms")

    def __init__(self, plan: CleaningPlan) -> None:
        self._now_ms = plan.now_ms
        self._new_horizon_ms = plan.delete_horizon_ms
        self._legacy_horizon_ms = plan.legacy_horizon_ms

    def rewrite(self, chunk: Chunk, marks: Marks, *, counts: Counts) -> bytearray:
        out = bytearray()
        for fated in fated_batches(chunk):
            batch = fated.batch
            if isinstance(batch, LegacyBatch):
                is_young = chunk.modified_ms > self._legacy_horizon_ms
                keeping = _Keeping(marks, counts, protects_tombstones=is_young)
                left = self._legacy(batch, fated, keeping)
            elif fated.fate & Fate.CONTROL:
                left = self._marker(batch, fated.fate, counts)
            else:
                horizon = batch.delete_horizon_ms
                is_early = horizon is None or self._now_ms < horizon
                keeping = _Keeping(marks, counts, protects_tombstones=is_early)
                left = self._data(batch, fated, keeping)
            counts.batches_read += 1
            counts.bytes_read += batch.size
            counts.batches_kept += len(left) > 0
            counts.bytes_kept += len(left)
            out += left
        return out

    def _marker(self, batch: RecordBatch, fate: Fate, counts: Counts) -> Buffer:
        if fate & Fate.DROPPED:
            counts.markers_dropped += batch.count
            return _emptied(batch, fate, counts)
        counts.markers_kept += batch.count
        if fate & Fate.NEEDS_HORIZON:
            unpacked = UnpackedBatch.of(batch)
            return unpacked.filtered(unpacked.records, new_horizon_ms=self._new_horizon_ms)
        counts.batches_copied += 1
        return batch.data

    def _data(self, batch: RecordBatch, fated: FatedBatch, keeping: "_Keeping") -> Buffer:
        numbers = keeping.kept(fated, batch.count)
        if not numbers:
            return _emptied(batch, fated.fate, keeping.counts)
        unpacked = UnpackedBatch.of(batch)
        kept = [unpacked.records[number - fated.first_number] for number in numbers]
        for record in kept:
            keeping.add_to_stream(unpacked.hash_of(record))
        if keeping.has_tombstone and not batch.has_delete_horizon:
            return unpacked.filtered(kept, new_horizon_ms=self._new_horizon_ms)
        if len(kept) < batch.count:
            return unpacked.filtered(kept)
        keeping.counts.batches_copied += 1
        return batch.data

    def _legacy(self, batch: LegacyBatch, fated: FatedBatch, keeping: "_Keeping") -> Buffer:
        records = list(batch.records())
        kept = [
            records[number - fated.first_number] for number in keeping.kept(fated, len(records))
        ]
        if kept:
            horizon = self._new_horizon_ms if keeping.has_tombstone else None
            converted = RecordBatch(up_convert_kept(batch, kept, delete_horizon_ms=horizon))
            unpacked = UnpackedBatch.of(converted)
            for record in unpacked.records:
                keeping.add_to_stream(unpacked.hash_of(record))
            return converted.data
        if fated.fate & Fate.KEPT_IF_EMPTY:
            keeping.counts.batches_emptied += 1
            return up_convert_emptied(batch, base_offset=records[0].offset)
        return _GONE


class _Keeping:
    """Says of a data batch which of its records stay, and counts."""

    __slots__ = ("_marks", "_protects_tombstones", "counts", "has_tombstone")

    def __init__(self, marks: Marks, counts: Counts, *, protects_tombstones: bool) -> None:
        self.counts = counts
        self.has_tombstone = False
        self._marks = marks
        self._protects_tombstones = protects_tombstones

    def kept(self, fated: FatedBatch, count: int) -> list[int]:
        """Return the numbers of the records that stay."""
        counts, first = self.counts, fated.first_number
        counts.records_read += count
        if fated.fate & Fate.DROPPED:
            counts.aborted += count
            return []
        kept = [number for number in range(first, first + count) if self._stays(number)]
        counts.records_kept += len(kept)
        return kept

    def add_to_stream(self, hashed: int) -> None:
        """Take account of a record that stays, by its hash."""
        self.counts.stream = stream_with(self.counts.stream, hashed)

    def _stays(self, number: int) -> bool:
        counts = self.counts
        if not self._marks.is_latest(number):
            counts.superseded += 1
            return False
        if not self._marks.is_tombstone(number):
            return True
        if self._protects_tombstones:
            counts.tombstones_kept += 1
            self.has_tombstone = True
        else:
            counts.tombstones_dropped += 1
        return self._protects_tombstones


def _emptied(batch: RecordBatch, fate: Fate, counts: Counts) -> Buffer:
    """Return what is left of a batch without its records."""
    if not fate & Fate.KEPT_IF_EMPTY:
        return _GONE
    counts.batches_emptied += 1
    return emptied(batch)
