"""What a cleaning has left, looked at alone: sound batches, in order, each where it belongs.

Every checksum and every record is checked. Offsets increase from batch to batch through all of the
segments, which hold them by their own names, within 31 bits; none is at or above the end. Indexes
are held against the batches. All this comes first, for the rest relies on the order.
"""

from contextlib import closing
from dataclasses import dataclass, field

from cordwood.compaction.verify_indexes import IndexesSeen, aborted_entries
from cordwood.compaction.verify_reading import Batches, Found, Reading, SegmentFile
from cordwood.compaction.verify_records import Judge
from cordwood.compaction.verify_transactions import marker_of
from cordwood.compaction.violations import Violation, Violations
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.records.batch import RecordBatch
from cordwood.records.control import ControlType
from cordwood.records.stride import Pace
from cordwood.storage.index import AbortedEntry, is_within_reach
from cordwood.storage.log_config import LogConfig
from cordwood.storage.names import TXN_INDEX


@dataclass(slots=True)
class LeftLog:
    """What was seen of the cleaned segments: sums, and their aborted transactions by marker."""

    batches: int = 0
    bytes: int = 0
    aborted: dict[int, AbortedEntry] = field(default_factory=dict)


class LeftReader:
    """Reads the cleaned segments, and lets a judge learn their data."""

    __slots__ = ("_config", "_end", "_last_offset", "_pace", "_reading", "_violations", "seen")

    def __init__(
        self, reading: Reading, violations: Violations, *, config: LogConfig, end: int
    ) -> None:
        self.seen = LeftLog()
        self._reading = reading
        self._violations = violations
        self._config = config
        self._end = end
        self._last_offset = -1
        self._pace = Pace()

    def read(self, file: SegmentFile, judge: Judge) -> None:
        """Read the next segment."""
        indexes = IndexesSeen(self._reading.source, file, config=self._config)
        markers: set[int] = set()
        try:
            with closing(Batches(self._reading, (file,))) as left:
                self._read(left, judge, indexes, markers=markers)
        except BadRecordsError as error:
            self._violations.add(Violation(f"a batch is damaged: {error}", file.name))
            return
        for fault in indexes.finish():
            name = file.sibling(fault.extension)
            self._violations.add(Violation(fault.what, name, -1, -1, fault.expected, fault.found))
        self._see_aborted(file, markers)

    def _read(
        self, left: Batches, judge: Judge, indexes: IndexesSeen, *, markers: set[int]
    ) -> None:
        """Take all batches of a segment, and note its abort markers."""
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

    def _stride(self, left: Batches, judge: Judge, indexes: IndexesSeen) -> bool:
        """Take many batches at once; False if there are none."""
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

    def _see(self, found: Found) -> None:
        """Take note of a batch, and say what is wrong with its place."""
        header, file = found.header, found.file
        self.seen.batches += 1
        self.seen.bytes += header.size
        what = None
        if header.base_offset <= self._last_offset or header.last_offset < header.base_offset:
            what = "offsets go back"
        elif header.base_offset < file.base_offset:
            what = "a batch lies in a segment that begins behind it"
        elif not is_within_reach(header.last_offset, file.base_offset):
            what = "a batch is out of the reach of its segment's indexes"
        elif header.last_offset >= self._end:
            what = "a batch lies at or above the end of the pass"
        if what is not None:
            place = (header.base_offset, header.position)
            self._violations.add(Violation(what, file.name, *place))
        self._last_offset = max(self._last_offset, header.last_offset)

    def _see_aborted(self, file: SegmentFile, markers: set[int]) -> None:
        """Take a segment's transaction index, which speaks of markers of this segment alone."""
        name = file.sibling(TXN_INDEX)
        try:
            for entry in aborted_entries(self._reading.source, file):
                self.seen.aborted[entry.last_offset] = entry
                if entry.last_offset not in markers:
                    what = "an aborted transaction without its marker"
                    self._violations.add(Violation(what, name, entry.last_offset))
        except DamagedFileError as error:
            self._violations.add(Violation(str(error), name))


def _is_abort(found: Found) -> bool:
    batch = found.batch
    assert isinstance(batch, RecordBatch), "old formats have no control batches"
    return batch.count > 0 and marker_of(batch) is ControlType.ABORT
