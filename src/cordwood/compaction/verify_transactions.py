"""Which transactions were aborted, as the log itself tells: by its batches and markers alone.

No index is asked, and nothing that the pass has found out. A transaction is what a producer wrote
since its last marker; the marker decides. Those that are open where the pass ends are followed
beyond it: all data below the end have to be decided, or the pass had no right to them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import NamedTuple

from cordwood.records.batch import RecordBatch
from cordwood.records.control import ControlType, control_type
from cordwood.records.header import BatchHeader


class Aborted(NamedTuple):
    """Data of a producer from its first batch that is there up to the marker."""

    producer_id: int
    first_offset: int
    marker: int


class TransactionsTold:
    """Follows a log from its first batch on; then says what was aborted."""

    __slots__ = ("_aborted", "_open")

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._aborted: dict[int, list[Aborted]] = {}

    @property
    def undecided(self) -> tuple[int, ...]:
        """The first offsets of transactions that have no marker so far."""
        return tuple(sorted(self._open.values()))

    def see(self, header: BatchHeader, marker: Callable[[], ControlType]) -> None:
        """Take the next batch; `marker` says what a control batch is, if it has to be opened."""
        if not header.is_control:
            if header.is_transactional:
                self._open.setdefault(header.producer_id, header.base_offset)
            return
        self._end(header, marker)

    def see_beyond(self, header: BatchHeader, marker: Callable[[], ControlType]) -> None:
        """Take a batch that lies behind the pass, where only ends of what is open matter."""
        if header.is_control:
            self._end(header, marker)

    def aborted(self, producer_id: int, offset: int) -> Aborted | None:
        """Return the aborted transaction that data of a producer at an offset belong to."""
        known = self._aborted.get(producer_id, [])
        at = bisect_right(known, offset, key=lambda each: each.first_offset) - 1
        return known[at] if at >= 0 and offset < known[at].marker else None

    def ended_by(self, marker: BatchHeader) -> Aborted:
        """Return the transaction, which had data, that an abort marker ends."""
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
            entry = Aborted(header.producer_id, first, header.last_offset)
            self._aborted.setdefault(header.producer_id, []).append(entry)


def marker_of(batch: RecordBatch) -> ControlType:
    """Return what kind of records a control batch has; it has at least one."""
    return control_type(next(batch.records()).key)
