"""Walk over the original batches, each with its cleaned copy: a subset, in the same order.

    data      of an aborted transaction no record survives; for others `key_checks` decides
    marker    survives while its transaction has data, then until its horizon
    either    its header survives, empty if necessary, if it is the last batch of a producer, for
              sequence and epoch, or the last of the pass, for its last offset; otherwise it is
              removed with its records

`verify_alone` compares a cleaned log with itself: a second pass at the same moment changes nothing,
except rules that take two passes. That proves less: missing records are not found.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.plan.delete_horizon import new_delete_horizon_ms
from cordwood.compaction.proof.batch_checks import (
    SurvivingRecords,
    header_differences,
    record_differences,
)
from cordwood.compaction.proof.batch_reader import BatchCursor, LocatedBatch
from cordwood.compaction.proof.record_checks import BatchVerdict, RecordVerifier, StrideLimits
from cordwood.compaction.proof.transaction_outcomes import (
    AbortedRange,
    TransactionOutcomes,
    marker_of,
)
from cordwood.compaction.proof.violations import Violation
from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import ControlType
from cordwood.records.record_batch import DELETE_HORIZON_BIT, MAGIC, RecordBatch
from cordwood.records.tail_scan import ScanPacing


@dataclass(slots=True)
class WalkCounts:
    """Sums over batches."""

    batches: int = 0
    bytes: int = 0
    copied: int = 0
    emptied: int = 0
    markers_left: int = 0
    markers_gone: int = 0


class InputWalk:
    """A walk that takes the original batches in order, and advances in the output."""

    __slots__ = (
        "_end",
        "_is_alone",
        "_judge",
        "_lasts",
        "_left",
        "_pace",
        "_plan",
        "_told",
        "_violations",
        "_with_data",
        "counts",
        "needed",
    )

    def __init__(
        self,
        plan: CleaningPlan,
        told: Callable[[], TransactionOutcomes],
        judge: RecordVerifier,
        *,
        left: BatchCursor,
        end: int,
        is_alone: bool = False,
    ) -> None:
        self.counts = WalkCounts()
        #: Aborted transactions that require an index entry, by their markers.
        self.needed: dict[int, AbortedRange] = {}
        self._plan, self._end, self._is_alone = plan, end, is_alone
        self._told = told
        self._judge = judge
        self._violations = judge.violations
        self._left = left
        self._with_data: set[int] = set()
        self._lasts = last_offsets_of(plan)
        self._pace = ScanPacing()

    def see_all(self, before: BatchCursor) -> None:
        """Compare all original batches with their copies."""
        while (found := before.peek()) is not None:
            if self._pace.is_due() and self._stride(before):
                continue
            before.take()
            self.see(found)

    def see(self, before: LocatedBatch) -> None:
        """Compare the next original batch with its copy."""
        self._see_producer(before)
        self.counts.batches += 1
        self.counts.bytes += before.header.size
        after = self._left_of(before)
        if after is not None and after.file.group != before.file.group:
            self._report(after, "a batch is in another group's segment")
        if before.header.is_control:
            self._see_marker(before, after)
        else:
            self._see_data(before, after)

    def finish(self) -> None:
        """Report output batches without an original."""
        for found in self._left:
            self._report(found, "a batch without an original")

    # -- an original batch and its copy

    def _left_of(self, before: LocatedBatch) -> LocatedBatch | None:
        """Return the copy of a batch, valid until the next call."""
        while (found := self._left.peek()) is not None:
            if found.header.last_offset > before.header.last_offset:
                return None
            self._left.take()
            is_same = found.header.last_offset == before.header.last_offset
            if is_same or before.header.magic < MAGIC:
                return found
            self._report(found, "a batch without an original")
        return None

    def _stride(self, before: BatchCursor) -> bool:
        """Compare many batches at once; return False without any."""
        left = self._left.peek()
        terms = StrideLimits(
            end=self._end,
            is_alone=self._is_alone,
            may_match=left is not None and left.file.group == before.file.group,
            is_over=left is None,
        )
        strode = self._judge.judge_many(before, self._left, terms=terms)
        self.counts.batches += strode.batches
        self.counts.bytes += strode.bytes
        self.counts.copied += strode.copied
        if strode.is_held_up:
            self._pace.went(strode.batches)
        if strode.is_wrong:
            self._see_wrong(before)
        return strode.is_wrong or strode.batches > 0

    def _see_wrong(self, before: BatchCursor) -> None:
        """Word the error of the next batch."""
        known, found = self._violations.count, before.take()
        assert found is not None, "the caller has peeked it"
        self.see(found)
        if self._violations.count == known:
            self._report(found, "the kernels find something wrong, and the plain walk nothing")

    # -- data and markers

    def _see_data(self, before: LocatedBatch, after: LocatedBatch | None) -> None:
        header = before.header
        if header.is_transactional:
            self._with_data.add(header.producer_id)
        is_aborted = (
            header.is_transactional
            and self._told().aborted(header.producer_id, header.base_offset) is not None
        )
        ruling = BatchVerdict(is_aborted, self._is_expired(before))
        judged = self._judge.judge(before, after, ruling=ruling)
        is_new = judged.has_tombstone and not self._is_alone
        self._hold(before, after, was=judged.was, left=judged.left, is_marked=is_new)

    def _see_producer(self, before: LocatedBatch) -> None:
        """Report a producer whose last batch is not the plan's."""
        header = before.header
        last = None if header.is_control else self._lasts.get(header.producer_id)
        if last is not None and header.last_offset > last:
            what = "a producer has a later batch than in the plan"
            self._report(before, what, expected=f"at most {last}", found=str(header.last_offset))

    def _see_marker(self, before: LocatedBatch, after: LocatedBatch | None) -> None:
        header, kind = before.header, _kind_of(before)
        has_data = header.producer_id in self._with_data
        is_idle = kind in {ControlType.ABORT, ControlType.COMMIT} and not has_data
        if kind in {ControlType.ABORT, ControlType.COMMIT}:
            self._with_data.discard(header.producer_id)
        is_left = after is not None and after.header.record_count > 0
        if kind is ControlType.ABORT and not is_idle:
            self.needed[header.last_offset] = self._told().ended_by(header)
        must_go = is_idle and self._is_expired(before)
        if header.record_count and is_left == must_go:
            when = "survives after" if must_go else "was removed before"
            self._report(after or before, f"a marker {when} its horizon")
        self.counts.markers_left += header.record_count if is_left else 0
        self.counts.markers_gone += 0 if is_left else header.record_count
        left = (
            self._compared(before, after) if after is not None and is_left else SurvivingRecords()
        )
        is_new = is_idle and not self._is_alone
        self._hold(before, after, was=header.record_count, left=left, is_marked=is_new)

    def _compared(self, before: LocatedBatch, after: LocatedBatch) -> SurvivingRecords:
        """Compare the records of a control batch with the original ones."""
        was, left = list(before.batch.records()), list(after.batch.records())
        if [record.offset for record in was] != [record.offset for record in left]:
            self._report(after, "a control batch has other records")
        for one, other in zip(was, left, strict=False):
            for wrong in record_differences(one, other):
                self._report(after, wrong.what, expected=wrong.expected, found=wrong.found)
        latest = max(record.timestamp for record in left)
        return SurvivingRecords(len(left), left[0].offset, left[-1].offset, latest)

    def _is_expired(self, before: LocatedBatch) -> bool:
        """Return whether tombstones and idle markers of a batch are to be removed."""
        if self._is_alone:
            return False
        if before.header.magic < MAGIC:
            return before.file.modified_ms <= self._plan.legacy_horizon_ms
        horizon = _horizon(before.header)
        return horizon is not None and horizon <= self._plan.now_ms

    # -- the batch as such

    def _hold(
        self,
        before: LocatedBatch,
        after: LocatedBatch | None,
        *,
        was: int,
        left: SurvivingRecords,
        is_marked: bool,
    ) -> None:
        """Report whether a batch may survive, or may be removed, and whether its header is right.

        `is_marked`: the copy has a horizon, set by this pass or earlier.
        """
        is_needed = self._is_needed(before.header)
        if after is None:
            if is_needed and before.header.magic == MAGIC:
                self._report(before, "the last batch of a producer, or of the pass, was removed")
            return
        horizon = _horizon(before.header)
        is_new = is_marked and horizon is None
        if left.records == 0:
            self.counts.emptied += 1
            if not is_needed and not self._is_alone:  # its producer may have gone on since
                self._report(after, "an empty batch survives without need")
        elif left.records == was and not is_new and before.header.magic == MAGIC:
            self.counts.copied += 1
            if bytes(before.data) != bytes(after.data):
                self._report(after, "a batch whose records all survive has other bytes")
            else:
                return
        horizon = new_delete_horizon_ms(self._plan) if is_new else horizon
        for wrong in header_differences(before, after, left=left, horizon_ms=horizon):
            self._report(after, wrong.what, expected=wrong.expected, found=wrong.found)

    def _is_needed(self, header: BatchHeader) -> bool:
        """Return whether a batch stays even if it is empty."""
        if header.next_offset == self._end:
            return True
        last = self._plan.last_records.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.last_data_offset is None:
            return header.is_control and header.producer_epoch == last.producer_epoch
        return header.last_offset == last.last_data_offset

    def _report(
        self, where: LocatedBatch, what: str, *, expected: str = "", found: str = ""
    ) -> None:
        place = (where.header.base_offset, where.header.position)
        self._violations.add(Violation(what, where.file.name, *place, expected, found))


def last_offsets_of(plan: CleaningPlan) -> dict[int, int]:
    """Return the last data offset of each producer, according to the plan."""
    return {
        producer_id: last.last_data_offset
        for producer_id, last in plan.last_records.items()
        if last.last_data_offset is not None
    }


def _kind_of(found: LocatedBatch) -> ControlType | None:
    """Return the type of a control batch; None for an empty one."""
    batch = found.batch
    assert isinstance(batch, RecordBatch), "old formats have no control batches"
    return marker_of(batch) if batch.count else None


def _horizon(header: BatchHeader) -> int | None:
    has_horizon = header.magic == MAGIC and header.attributes & DELETE_HORIZON_BIT
    return header.base_timestamp if has_horizon else None
