"""The fates of all batches of a plan, decided by headers and markers alone, before any key.

    data      DROPPED          of an aborted transaction
    marker    NEEDS_HORIZON    idle (`transactions`), and never found so before
              DROPPED          idle, and its horizon is reached; or it was emptied before
    either    KEPT_IF_EMPTY    the last of a producer: its sequences, or its epoch, are still needed
                               or it ends the pass, so that the log still tells how far it went

Which transactions were aborted is asked once the first batch of a transaction is met: most logs
have none.
"""

from collections.abc import Callable, Iterable

from cordwood.compaction.engine import Sighting
from cordwood.compaction.fates import Fate, SegmentSurvey
from cordwood.compaction.plan import CleaningPlan
from cordwood.compaction.transactions import MarkerFound, TransactionTracker
from cordwood.core.binary import Buffer
from cordwood.records.batch import DELETE_HORIZON_BIT, RecordBatch
from cordwood.records.control import ControlType, control_type
from cordwood.records.header import BatchHeader, ensure_crc, read_header
from cordwood.storage.index import AbortedEntry


class Survey:
    """Goes through the plan's segments in order; `segments` is what it has written down."""

    __slots__ = ("_aborted", "_plan", "_tracker", "segments")

    def __init__(self, plan: CleaningPlan, aborted: Callable[[], Iterable[AbortedEntry]]) -> None:
        self.segments: list[SegmentSurvey] = []
        self._plan = plan
        self._aborted = aborted
        self._tracker: TransactionTracker | None = None

    @property
    def last_offsets(self) -> frozenset[int]:
        """The last offsets of ordinary batches that have a fate all the same."""
        last = (each.last_data_offset for each in self._plan.last_batches.values())
        return frozenset((self._plan.end - 1, *(offset for offset in last if offset is not None)))

    @property
    def doubtful_from(self) -> int | None:
        """From where on markers do not bear out which transactions were aborted."""
        return None if self._tracker is None else self._tracker.doubtful_from

    @property
    def records(self) -> int:
        """How many records are numbered so far."""
        if not self.segments:
            return 0
        return self.segments[-1].first_number + self.segments[-1].records

    def begin(self, base_offset: int) -> None:
        """Go on with the next segment."""
        self.segments.append(SegmentSurvey(base_offset, self.records))

    def add(self, data: Buffer, sighting: Sighting) -> None:
        """Decide on the batches that were noted in the chunk that comes next."""
        segment = self.segments[-1]
        position = segment.size
        segment.add_chunk(size=sighting.size, batches=sighting.batches, records=sighting.records)
        for at in sighting.noted:
            header = read_header(data, at)
            assert header is not None, "what was noted is whole"
            fate = self._fate_of_marker(header, data) if header.is_control else Fate.NONE
            if header.is_transactional and not header.is_control and self._known.on_data(header):
                fate = Fate.DROPPED
            if self._is_kept_if_empty(header):
                fate |= Fate.KEPT_IF_EMPTY
            if fate:
                segment.add(position + at, fate)

    @property
    def _known(self) -> TransactionTracker:
        if self._tracker is None:
            self._tracker = TransactionTracker(self._aborted())
        return self._tracker

    def _fate_of_marker(self, header: BatchHeader, data: Buffer) -> Fate:
        found = self._known.on_marker(header, _kind(data, header))
        if found.aborted is not None:
            self.segments[-1].aborted.append(found.aborted)
        return Fate.CONTROL | self._fate_of_idle(header, found)

    def _fate_of_idle(self, header: BatchHeader, found: MarkerFound) -> Fate:
        if not found.is_idle:
            return Fate.NONE
        if header.record_count == 0:
            return Fate.DROPPED
        if not header.attributes & DELETE_HORIZON_BIT:
            return Fate.NEEDS_HORIZON
        return Fate.DROPPED if header.base_timestamp <= self._plan.now_ms else Fate.NONE

    def _is_kept_if_empty(self, header: BatchHeader) -> bool:
        if header.next_offset == self._plan.end:
            return True
        last = self._plan.last_batches.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.last_data_offset is not None:
            return header.last_offset == last.last_data_offset
        return header.is_control and header.producer_epoch == last.producer_epoch


def _kind(data: Buffer, header: BatchHeader) -> ControlType | None:
    """Return what a control batch says; None of one that has been emptied."""
    ensure_crc(header, memoryview(data)[header.position : header.end])
    if header.record_count == 0:
        return None
    batch = RecordBatch(data, header.position)
    return control_type(next(batch.raw_records(batch.uncompressed())).key)
