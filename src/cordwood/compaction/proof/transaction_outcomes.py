"""Outcomes of transactions, from the batches and markers of the log alone.

No index and no result of the pass is used. A transaction is the data of a producer since its last
marker; the marker decides. Ongoing transactions at the end of the pass are followed beyond it: all
data below the end have to be decided, or the pass must not touch them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import NamedTuple

from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import ControlType, control_type
from cordwood.records.record_batch import RecordBatch


class AbortedRange(NamedTuple):
    """Aborted data of a producer, from the first present batch to the marker."""

    producer_id: int
    first_offset: int
    marker: int


class TransactionOutcomes:
    """A reader of a log from its first batch on that returns the aborted ranges."""

    __slots__ = ("_aborted", "_open")

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._aborted: dict[int, list[AbortedRange]] = {}

    @property
    def undecided(self) -> tuple[int, ...]:
        """Return the first offsets of transactions without a marker so far."""
        return tuple(sorted(self._open.values()))

    def see(self, header: BatchHeader, marker: Callable[[], ControlType]) -> None:
        """Process the next batch; `marker` decodes a control batch on demand."""
        if not header.is_control:
            if header.is_transactional:
                self._open.setdefault(header.producer_id, header.base_offset)
            return
        self._end(header, marker)

    def see_beyond(self, header: BatchHeader, marker: Callable[[], ControlType]) -> None:
        """Process a batch after the pass, where only ends of ongoing transactions matter."""
        if header.is_control:
            self._end(header, marker)

    def aborted(self, producer_id: int, offset: int) -> AbortedRange | None:
        """Return the aborted range of a producer at an offset."""
        known = self._aborted.get(producer_id, [])
        at = bisect_right(known, offset, key=lambda each: each.first_offset) - 1
        return known[at] if at >= 0 and offset < known[at].marker else None

    def ended_by(self, marker: BatchHeader) -> AbortedRange:
        """Return the range, with data, that an abort marker ends."""
        known = self._aborted[marker.producer_id]
        return known[bisect_left(known, marker.last_offset, key=lambda each: each.marker)]

    def _end(self, header: BatchHeader, marker: Callable[[], ControlType]) -> None:
        if header.record_count == 0 or header.producer_id not in self._open:
            return
        kind = marker()
        if kind not in {ControlType.ABORT, ControlType.COMMIT}:
            return
        first = self._open.pop(header.producer_id)
        if kind is ControlType.ABORT:
            entry = AbortedRange(header.producer_id, first, header.last_offset)
            self._aborted.setdefault(header.producer_id, []).append(entry)


def marker_of(batch: RecordBatch) -> ControlType:
    """Return the type of the records of a non-empty control batch."""
    return control_type(next(batch.records()).key)
