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

from cordwood.compaction.engine import Chunk, Counts
from cordwood.compaction.fated import FatedBatch, fated_batches
from cordwood.compaction.fates import Fate
from cordwood.compaction.key_hash import record_hash, stream_with
from cordwood.compaction.marks import Marks
from cordwood.compaction.plan import CleaningPlan
from cordwood.core.binary import Buffer, append_varint, append_varlong, read_varint, read_varlong
from cordwood.records.batch import LOG_APPEND_TIME_BIT, RecordBatch
from cordwood.records.builder import emptied, filtered
from cordwood.records.convert import up_convert_emptied, up_convert_kept
from cordwood.records.legacy import LegacyBatch
from cordwood.records.v2_record import V2Record, wrap_int64

_GONE = b""


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
                is_protected = chunk.modified_ms > self._legacy_horizon_ms
                left: Buffer = self._legacy(
                    fated, batch, _Keeping(marks, counts, is_protected=is_protected)
                )
            elif fated.fate & Fate.CONTROL:
                left = self._marker(batch, fated.fate, counts)
            else:
                horizon = batch.delete_horizon_ms
                is_protected = horizon is None or self._now_ms < horizon
                left = self._data(fated, batch, _Keeping(marks, counts, is_protected=is_protected))
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
        if not fate & Fate.NEEDS_HORIZON:
            counts.batches_copied += 1
            return batch.data
        data = batch.uncompressed()
        return self._filtered(batch, data, _spans(batch, data), needs_horizon=True)

    def _data(self, fated: FatedBatch, batch: RecordBatch, keeping: "_Keeping") -> Buffer:
        kept_numbers = keeping.kept(fated, batch.count)
        if not kept_numbers:
            return _emptied(batch, fated.fate, keeping.counts)
        data = batch.uncompressed()
        spans = _spans(batch, data)
        kept = [spans[number - fated.first_number] for number in kept_numbers]
        keeping.add_to_stream(batch, kept, data=data)
        needs_horizon = keeping.has_tombstone and not batch.has_delete_horizon
        if len(kept) == len(spans) and not needs_horizon:
            keeping.counts.batches_copied += 1
            return batch.data
        return self._filtered(batch, data, kept, needs_horizon=needs_horizon)

    def _legacy(self, fated: FatedBatch, batch: LegacyBatch, keeping: "_Keeping") -> Buffer:
        records = list(batch.records())
        kept_numbers = keeping.kept(fated, len(records))
        if kept_numbers:
            converted = RecordBatch(
                up_convert_kept(
                    batch,
                    [records[number - fated.first_number] for number in kept_numbers],
                    delete_horizon_ms=self._new_horizon_ms if keeping.has_tombstone else None,
                )
            )
            data = converted.uncompressed()
            keeping.add_to_stream(converted, _spans(converted, data), data=data)
            return converted.data
        if not fated.fate & Fate.KEPT_IF_EMPTY:
            return _GONE
        keeping.counts.batches_emptied += 1
        return up_convert_emptied(batch, base_offset=records[0].offset)

    def _filtered(
        self, batch: RecordBatch, data: Buffer, kept: "list[_Span]", *, needs_horizon: bool
    ) -> Buffer:
        raw = bytearray()
        for start, record in kept:
            if needs_horizon:
                shift = batch.base_timestamp - self._new_horizon_ms
                _append_shifted(raw, data[start : record.end], shift)
            else:
                raw += data[start : record.end]
        max_timestamp = batch.max_timestamp
        if not batch.attributes & LOG_APPEND_TIME_BIT:
            max_timestamp = max(-1, *(_timestamp(batch, record) for _, record in kept))
        return filtered(
            batch,
            raw,
            count=len(kept),
            max_timestamp=max_timestamp,
            new_horizon_ms=self._new_horizon_ms if needs_horizon else None,
        )


#: Where a record begins in the uncompressed records, and what it says.
_Span = tuple[int, V2Record]


class _Keeping:
    """Says of a data batch which of its records stay, and counts."""

    __slots__ = ("_is_protected", "_marks", "counts", "has_tombstone")

    def __init__(self, marks: Marks, counts: Counts, *, is_protected: bool) -> None:
        self.counts = counts
        self.has_tombstone = False
        self._marks = marks
        self._is_protected = is_protected

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

    def _stays(self, number: int) -> bool:
        counts = self.counts
        if not self._marks.is_latest(number):
            counts.superseded += 1
            return False
        if self._marks.is_tombstone(number):
            counts.tombstones_kept += self._is_protected
            counts.tombstones_dropped += not self._is_protected
            self.has_tombstone |= self._is_protected
            return self._is_protected
        return True

    def add_to_stream(self, batch: RecordBatch, kept: list[_Span], *, data: Buffer) -> None:
        """Take account of the records that stay, as consumers will see them."""
        for start, record in kept:
            hashed = record_hash(
                data[_key_at(data, start, record.end) : record.end],
                offset=batch.base_offset + record.offset_delta,
                timestamp=_timestamp(batch, record),
            )
            self.counts.stream = stream_with(self.counts.stream, hashed)


def _emptied(batch: RecordBatch, fate: Fate, counts: Counts) -> Buffer:
    """Return what is left of a batch without its records."""
    if not fate & Fate.KEPT_IF_EMPTY:
        return _GONE
    counts.batches_emptied += 1
    return emptied(batch)


def _spans(batch: RecordBatch, data: Buffer) -> "list[_Span]":
    spans, start = [], 0
    for record in batch.raw_records(data):
        spans.append((start, record))
        start = record.end
    return spans


def _timestamp(batch: RecordBatch, record: V2Record) -> int:
    """Return the time that consumers see."""
    if batch.attributes & LOG_APPEND_TIME_BIT:
        return batch.max_timestamp
    return wrap_int64(batch.base_timestamp + record.timestamp_delta)


def _key_at(data: Buffer, start: int, end: int) -> int:
    """Return where the length of a record's key begins."""
    _, at = read_varint(data, start, end)
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
