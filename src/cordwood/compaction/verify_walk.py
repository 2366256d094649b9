"""What was there, batch by batch, each with what is left of it: a part of it, in the same order.

    data      of an aborted transaction all records are gone; of others `verify_keys` says which
    marker    stays while its transaction has data, then until its horizon has come
    either    its header stays, empty if need be, where it is the last of a producer, for sequence
              and epoch, or the last of the pass, for the offset that it ends with; else it goes
              when its records do

Alone, a cleaned log is held against itself: to clean it again at the same moment changes nothing,
but for what takes two passes, and no time passes. That proves less: not what is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cordwood.compaction.plan import CleaningPlan
from cordwood.compaction.verify_batches import Left, header_differences, record_differences
from cordwood.compaction.verify_reading import Batches, Found
from cordwood.compaction.verify_records import Judge, Ruling, Terms
from cordwood.compaction.verify_transactions import Aborted, TransactionsTold, marker_of
from cordwood.compaction.violations import Violation
from cordwood.records.batch import DELETE_HORIZON_BIT, MAGIC, RecordBatch
from cordwood.records.control import ControlType
from cordwood.records.header import BatchHeader
from cordwood.records.stride import Pace


@dataclass(slots=True)
class WalkCounts:
    """Sums over batches."""

    batches: int = 0
    bytes: int = 0
    copied: int = 0
    emptied: int = 0
    markers_left: int = 0
    markers_gone: int = 0


class Walk:
    """Takes what was there, in order, and takes what is left along."""

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
        told: Callable[[], TransactionsTold],
        judge: Judge,
        *,
        left: Batches,
        end: int,
        is_alone: bool = False,
    ) -> None:
        self.counts = WalkCounts()
        #: Aborted transactions that have to stand in an index, by their markers.
        self.needed: dict[int, Aborted] = {}
        self._plan, self._end, self._is_alone = plan, end, is_alone
        self._told = told
        self._judge = judge
        self._violations = judge.violations
        self._left = left
        self._with_data: set[int] = set()
        self._lasts = last_offsets_of(plan)
        self._pace = Pace()

    def see_all(self, before: Batches) -> None:
        """Hold all batches that were there against what is left of them."""
        while (found := before.peek()) is not None:
            if self._pace.is_due() and self._stride(before):
                continue
            before.take()
            self.see(found)

    def see(self, before: Found) -> None:
        """Hold the next batch that was there against what is left of it."""
        self._see_producer(before)
        self.counts.batches += 1
        self.counts.bytes += before.header.size
        after = self._left_of(before)
        if after is not None and after.file.group != before.file.group:
            self._report(after, "a batch lies in another group's segment")
        if before.header.is_control:
            self._see_marker(before, after)
        else:
            self._see_data(before, after)

    def finish(self) -> None:
        """Report what is left of nothing."""
        for found in self._left:
            self._report(found, "a batch that was not there")

    # -- what belongs together

    def _left_of(self, before: Found) -> Found | None:
        """Return what is left of a batch; it is there until the next one is asked for."""
        while (found := self._left.peek()) is not None:
            if found.header.last_offset > before.header.last_offset:
                return None
            self._left.take()
            is_same = found.header.last_offset == before.header.last_offset
            if is_same or before.header.magic < MAGIC:
                return found
            self._report(found, "a batch that was not there")
        return None

    def _stride(self, before: Batches) -> bool:
        """Go over many batches at once; False if there are none."""
        left = self._left.peek()
        terms = Terms(
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

    def _see_wrong(self, before: Batches) -> None:
        """Find the words for what is wrong with the next batch."""
        known, found = self._violations.count, before.take()
        assert found is not None, "that is the one"
        self.see(found)
        if self._violations.count == known:
            self._report(found, "the kernels find something wrong, and the plain walk nothing")

    # -- data and markers

    def _see_data(self, before: Found, after: Found | None) -> None:
        header = before.header
        if header.is_transactional:
            self._with_data.add(header.producer_id)
        is_aborted = (
            header.is_transactional
            and self._told().aborted(header.producer_id, header.base_offset) is not None
        )
        ruling = Ruling(is_aborted, self._is_expired(before))
        judged = self._judge.judge(before, after, ruling=ruling)
        is_new = judged.has_tombstone and not self._is_alone
        self._hold(before, after, was=judged.was, left=judged.left, is_marked=is_new)

    def _see_producer(self, before: Found) -> None:
        """Say if the plan has another batch of a producer stay than its last one."""
        header = before.header
        last = None if header.is_control else self._lasts.get(header.producer_id)
        if last is not None and header.last_offset > last:
            what = "a producer has a later batch than the plan says"
            self._report(before, what, expected=f"at most {last}", found=str(header.last_offset))

    def _see_marker(self, before: Found, after: Found | None) -> None:
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
            when = "left after" if must_go else "gone before"
            self._report(after or before, f"a marker is {when} its time")
        self.counts.markers_left += header.record_count if is_left else 0
        self.counts.markers_gone += 0 if is_left else header.record_count
        left = self._compared(before, after) if after is not None and is_left else Left()
        is_new = is_idle and not self._is_alone
        self._hold(before, after, was=header.record_count, left=left, is_marked=is_new)

    def _compared(self, before: Found, after: Found) -> Left:
        """Hold the records of a control batch against those that were there."""
        was, left = list(before.batch.records()), list(after.batch.records())
        if [record.offset for record in was] != [record.offset for record in left]:
            self._report(after, "a control batch has other records")
        for one, other in zip(was, left, strict=False):
            for wrong in record_differences(one, other):
                self._report(after, wrong.what, expected=wrong.expected, found=wrong.found)
        latest = max(record.timestamp for record in left)
        return Left(len(left), left[0].offset, left[-1].offset, latest)

    def _is_expired(self, before: Found) -> bool:
        """Whether tombstones and idle markers of a batch are to go."""
        if self._is_alone:
            return False
        if before.header.magic < MAGIC:
            return before.file.modified_ms <= self._plan.legacy_horizon_ms
        horizon = _horizon(before.header)
        return horizon is not None and horizon <= self._plan.now_ms

    # -- the batch as such

    def _hold(
        self, before: Found, after: Found | None, *, was: int, left: Left, is_marked: bool
    ) -> None:
        """Say whether a batch may be there, or may be gone, and whether its header is right.

        `is_marked`: what is left has a horizon, from this pass on if not before.
        """
        is_needed = self._is_needed(before.header)
        if after is None:
            if is_needed and before.header.magic == MAGIC:
                self._report(before, "the last batch of a producer, or of the pass, is gone")
            return
        horizon = _horizon(before.header)
        is_new = is_marked and horizon is None
        if left.records == 0:
            self.counts.emptied += 1
            if not is_needed:
                self._report(after, "an empty batch is left that nobody needs")
        elif left.records == was and not is_new and before.header.magic == MAGIC:
            self.counts.copied += 1
            if bytes(before.data) != bytes(after.data):
                self._report(after, "a batch that is left whole has other bytes")
            else:
                return
        horizon = self._plan.delete_horizon_ms if is_new else horizon
        for wrong in header_differences(before, after, left=left, horizon_ms=horizon):
            self._report(after, wrong.what, expected=wrong.expected, found=wrong.found)

    def _is_needed(self, header: BatchHeader) -> bool:
        """Whether a batch stays even if it is empty."""
        if header.next_offset == self._end:
            return True
        last = self._plan.last_batches.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.last_data_offset is None:
            return header.is_control and header.producer_epoch == last.producer_epoch
        return header.last_offset == last.last_data_offset

    def _report(self, where: Found, what: str, *, expected: str = "", found: str = "") -> None:
        place = (where.header.base_offset, where.header.position)
        self._violations.add(Violation(what, where.file.name, *place, expected, found))


def last_offsets_of(plan: CleaningPlan) -> dict[int, int]:
    """Return the last offset of the data of each producer, as a plan has it."""
    return {
        producer_id: last.last_data_offset
        for producer_id, last in plan.last_batches.items()
        if last.last_data_offset is not None
    }


def _kind_of(found: Found) -> ControlType | None:
    """Return what a control batch says; None of an empty one."""
    batch = found.batch
    assert isinstance(batch, RecordBatch), "old formats have no control batches"
    return marker_of(batch) if batch.count else None


def _horizon(header: BatchHeader) -> int | None:
    has_horizon = header.magic == MAGIC and header.attributes & DELETE_HORIZON_BIT
    return header.base_timestamp if has_horizon else None
