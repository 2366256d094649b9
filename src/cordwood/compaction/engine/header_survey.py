"""The survey of a plan's headers: chunks, record numbers and batch retention, before any key.

Kafka decides the same in `Cleaner.cleanInto`, while it rewrites (`shouldDiscardBatch`).

    data      DELETE           of an aborted transaction
    marker    NEEDS_HORIZON    discardable (`cleaned_transaction_metadata`), without a horizon
              DELETE           discardable, and its horizon is reached; or already empty
    either    RETAIN_EMPTY     the last batch of a producer, whose sequence or epoch is needed;
                               or the last batch of the pass, to record where the pass ended

The aborted transactions are read only when the survey meets the first batch of a transaction: most
logs have none.
"""

from array import array
from collections.abc import Callable, Collection, Iterable

from cordwood.compaction.engine.batch_retention import BatchRetention, SegmentSurvey
from cordwood.compaction.engine.cleaned_transaction_metadata import (
    CleanedTransactionMetadata,
    MarkerState,
)
from cordwood.compaction.engine.engine import ChunkSummary
from cordwood.compaction.engine.segment_chunk import count_numbered
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.plan.delete_horizon import HorizonState, horizon_state
from cordwood.core.binary import Buffer
from cordwood.records.batch_header import BatchHeader, ensure_crc, read_header
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.control_records import ControlType, control_type
from cordwood.records.record_batch import DELETE_HORIZON_BIT, RecordBatch
from cordwood.storage.segment.transaction_index import AbortedTxn


class PlainSurveyor:
    """The plain twin of surveyors: reads header after header."""

    __slots__ = ("_last_offsets",)

    def __init__(self, last_offsets: Collection[int] = ()) -> None:
        self._last_offsets = frozenset(last_offsets)

    def summarize(self, data: Buffer) -> ChunkSummary:
        size = count = records = 0
        flagged = array("q")
        for batch in batches(data):
            size, count = batch.end, count + 1
            records += count_numbered(batch)
            if self.is_flagged(batch):
                flagged.append(batch.position)
        return ChunkSummary(size, count, records, flagged)

    def is_flagged(self, batch: AnyBatch) -> bool:
        """Whether a batch may need a retention: control, transactional, or with a given offset."""
        is_of_producer = batch.is_control or batch.is_transactional
        return is_of_producer or batch.last_offset in self._last_offsets


class HeaderSurvey:
    """The survey of a plan's segments, in order; `segments` are the results so far."""

    __slots__ = ("_aborted", "_plan", "_transactions", "segments")

    def __init__(self, plan: CleaningPlan, aborted: Callable[[], Iterable[AbortedTxn]]) -> None:
        self.segments: list[SegmentSurvey] = []
        self._plan = plan
        self._aborted = aborted
        self._transactions: CleanedTransactionMetadata | None = None

    @property
    def last_offsets(self) -> frozenset[int]:
        """The last offsets of ordinary batches that may need a retention."""
        last = (each.last_data_offset for each in self._plan.last_records.values())
        return frozenset((self._plan.end - 1, *(offset for offset in last if offset is not None)))

    @property
    def unconfirmed_from(self) -> int | None:
        """The first offset from which markers do not confirm the aborted transactions, or None."""
        return None if self._transactions is None else self._transactions.unconfirmed_from

    @property
    def records(self) -> int:
        """The number of numbered records so far."""
        if not self.segments:
            return 0
        return self.segments[-1].first_number + self.segments[-1].records

    def begin(self, base_offset: int) -> None:
        """Begin the next segment."""
        self.segments.append(SegmentSurvey(base_offset, self.records))

    def add(self, data: Buffer, summary: ChunkSummary) -> None:
        """Add the next chunk, and decide the retention of its flagged batches."""
        segment = self.segments[-1]
        position = segment.size
        segment.add_chunk(size=summary.size, batches=summary.batches, records=summary.records)
        for at in summary.flagged:
            header = read_header(data, at)
            assert header is not None, "a flagged batch is whole"
            retention = BatchRetention.DELETE_EMPTY
            if header.is_control:
                retention = self._marker_retention(header, data)
            elif header.is_transactional and self._metadata.on_batch_read(header):
                retention = BatchRetention.DELETE
            if self._is_retained_if_empty(header):
                retention |= BatchRetention.RETAIN_EMPTY
            if retention:
                segment.add_retention(position + at, retention)

    @property
    def _metadata(self) -> CleanedTransactionMetadata:
        if self._transactions is None:
            self._transactions = CleanedTransactionMetadata(self._aborted())
        return self._transactions

    def _marker_retention(self, header: BatchHeader, data: Buffer) -> BatchRetention:
        marker = self._metadata.on_control_batch_read(header, _control_type(data, header))
        if marker.aborted is not None:
            self.segments[-1].aborted.append(marker.aborted)
        return BatchRetention.CONTROL | self._discard_retention(header, marker)

    def _discard_retention(self, header: BatchHeader, marker: MarkerState) -> BatchRetention:
        """Return the retention by the delete horizon, of a marker that may be discardable."""
        if not marker.is_discardable:
            return BatchRetention.DELETE_EMPTY
        if header.record_count == 0:
            return BatchRetention.DELETE
        has_horizon = header.attributes & DELETE_HORIZON_BIT
        horizon_ms = header.base_timestamp if has_horizon else None
        horizon = horizon_state(horizon_ms, self._plan.now_ms)
        if horizon is HorizonState.UNSET:
            return BatchRetention.NEEDS_HORIZON
        is_reached = horizon is HorizonState.REACHED
        return BatchRetention.DELETE if is_reached else BatchRetention.DELETE_EMPTY

    def _is_retained_if_empty(self, header: BatchHeader) -> bool:
        if header.next_offset == self._plan.end:
            return True
        last = self._plan.last_records.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.last_data_offset is not None:
            return header.last_offset == last.last_data_offset
        return header.is_control and header.producer_epoch == last.producer_epoch


def _control_type(data: Buffer, header: BatchHeader) -> ControlType | None:
    """Return the type of a control batch; None if it is empty."""
    ensure_crc(header, memoryview(data)[header.position : header.end])
    if header.record_count == 0:
        return None
    batch = RecordBatch(data, header.position)
    return control_type(next(batch.raw_records(batch.uncompressed())).key)
