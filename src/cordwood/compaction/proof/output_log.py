"""Check of the cleaned segments by themselves: valid batches, in order, in the right segments.

Every checksum and every record is checked. Offsets increase from batch to batch through all
segments; each segment holds those from its base on, within 31 bits; none is at or above the end.
Indexes are checked against the batches. This check comes first, because the others rely on the
order.
"""

from contextlib import closing
from dataclasses import dataclass, field

from cordwood.compaction.proof.batch_reader import (
    BatchCursor,
    LocatedBatch,
    ReadOptions,
    SegmentFile,
)
from cordwood.compaction.proof.index_checks import CleanedIndexCheck, aborted_entries
from cordwood.compaction.proof.record_checks import RecordVerifier
from cordwood.compaction.proof.transaction_outcomes import marker_of
from cordwood.compaction.proof.violations import Violation, Violations
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.records.control_records import ControlType
from cordwood.records.record_batch import RecordBatch
from cordwood.records.tail_scan import ScanPacing
from cordwood.storage.files.file_names import TXN_INDEX
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import is_in_offset_range
from cordwood.storage.segment.transaction_index import AbortedTxn


@dataclass(slots=True)
class OutputSummary:
    """The sums of the cleaned segments, and their aborted transactions by marker."""

    batches: int = 0
    bytes: int = 0
    aborted: dict[int, AbortedTxn] = field(default_factory=dict)


class OutputReader:
    """A reader of the cleaned segments that passes their data to a record verifier."""

    __slots__ = ("_config", "_end", "_last_offset", "_pace", "_reading", "_violations", "seen")

    def __init__(
        self, reading: ReadOptions, violations: Violations, *, config: LogConfig, end: int
    ) -> None:
        self.seen = OutputSummary()
        self._reading = reading
        self._violations = violations
        self._config = config
        self._end = end
        self._last_offset = -1
        self._pace = ScanPacing()

    def read(self, file: SegmentFile, judge: RecordVerifier) -> None:
        """Read the next segment."""
        indexes = CleanedIndexCheck(self._reading.source, file, config=self._config)
        markers: set[int] = set()
        try:
            with closing(BatchCursor(self._reading, (file,))) as left:
                self._read(left, judge, indexes, markers=markers)
        except BadRecordsError as error:
            self._violations.add(Violation(f"a batch is damaged: {error}", file.name))
            return
        for fault in indexes.finish():
            name = file.sibling(fault.extension)
            self._violations.add(Violation(fault.what, name, -1, -1, fault.expected, fault.found))
        self._see_aborted(file, markers)

    def _read(
        self,
        left: BatchCursor,
        judge: RecordVerifier,
        indexes: CleanedIndexCheck,
        *,
        markers: set[int],
    ) -> None:
        """Check all batches of a segment, and collect its abort markers."""
        while (found := left.peek()) is not None:
            if self._pace.is_due() and self._stride(left, judge, indexes):
                continue
            self._see(found)
            indexes.see(found.header)
            left.take()
            if not found.header.is_control:
                judge.learn(found)
            elif _is_abort(found):
                markers.add(found.header.last_offset)

    def _stride(self, left: BatchCursor, judge: RecordVerifier, indexes: CleanedIndexCheck) -> bool:
        """Check many batches at once; return False without any."""
        file, at = left.file, left.at
        lowest = max(self._last_offset + 1, file.base_offset)
        highest = min(self._end - 1, file.base_offset + INT32_MAX)
        learnt = judge.learn_many(left, lowest=lowest, highest=highest)
        for placed in learnt:
            indexes.see(placed)
        self.seen.batches += len(learnt)
        self.seen.bytes += left.at - at
        if learnt:
            self._last_offset = learnt[-1].last_offset
        else:
            self._pace.went(0)
        return len(learnt) > 0

    def _see(self, found: LocatedBatch) -> None:
        """Check the place of a batch."""
        header, file = found.header, found.file
        self.seen.batches += 1
        self.seen.bytes += header.size
        what = None
        if header.base_offset <= self._last_offset or header.last_offset < header.base_offset:
            what = "offsets go back"
        elif header.base_offset < file.base_offset:
            what = "a batch is in a segment that begins after it"
        elif not is_in_offset_range(header.last_offset, file.base_offset):
            what = "a batch is beyond the offset range of its segment's indexes"
        elif header.last_offset >= self._end:
            what = "a batch is at or above the end of the pass"
        if what is not None:
            place = (header.base_offset, header.position)
            self._violations.add(Violation(what, file.name, *place))
        self._last_offset = max(self._last_offset, header.last_offset)

    def _see_aborted(self, file: SegmentFile, markers: set[int]) -> None:
        """Check a segment's transaction index, which lists markers of this segment only."""
        name = file.sibling(TXN_INDEX)
        try:
            for entry in aborted_entries(self._reading.source, file):
                self.seen.aborted[entry.last_offset] = entry
                if entry.last_offset not in markers:
                    what = "an aborted transaction without its marker"
                    self._violations.add(Violation(what, name, entry.last_offset))
        except DamagedFileError as error:
            self._violations.add(Violation(str(error), name))


def _is_abort(found: LocatedBatch) -> bool:
    batch = found.batch
    assert isinstance(batch, RecordBatch), "old formats have no control batches"
    return batch.count > 0 and marker_of(batch) is ControlType.ABORT
