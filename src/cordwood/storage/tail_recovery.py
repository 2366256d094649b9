"""The end of a log that was not closed: checked batch by batch from the recovery point on.

What lies below the recovery point has been synced and is believed. Above it the first batch that is
not whole ends the log: later segments are removed, since a log has no gaps, and then the rest of
its segment is cut off. In this order, each durable before the next, because later segments must not
be there again after another crash, behind a segment that seems whole by then.

A segment below that cannot be used as it is gets its indexes anew. If it turns out to be damaged it
is cut as well, and what follows stays: it was synced, and is still good.

Producers and epochs are brought along, so that aborted transactions get back into their indexes. A
segment that is too wide for its indexes is split on the way.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from cordwood.records.header import BatchHeader
from cordwood.records.stride import Strider, Striders, no_strider
from cordwood.storage.index import (
    AbortedEntry,
    SegmentOverflowError,
    is_within_reach,
)
from cordwood.storage.log_state import LogState
from cordwood.storage.producer_replay import replay
from cordwood.storage.producer_state import ProducedBatch
from cordwood.storage.reader_segments import settled
from cordwood.storage.scan import headers
from cordwood.storage.segment import Segment
from cordwood.storage.segment_recovery import recover
from cordwood.storage.splitting import parts_of, split

#: As many batches are looked at to tell how many there are.
SAMPLE_BATCHES: Final = 32

Fault: TypeAlias = CorruptMessageError | InvalidRecordError | SegmentOverflowError


@dataclass(slots=True)
class RecoveryReport:
    """What opening a log came to: for the operator, and for who has to know what was lost.

    `recovered`, `removed` and `split` name segments by their base offsets. `fault` is the first
    that made records go; `warnings` are what else was found, and made none go.
    """

    leftovers: tuple[str, ...] = ()
    recovered: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    split: list[int] = field(default_factory=list)
    cut_bytes: int = 0
    fault: Fault | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def is_worth_telling(self) -> bool:
        """Whether something was lost that had been written, or was found to be strange."""
        return bool(self.cut_bytes or self.removed or self.split or self.warnings)

    def __str__(self) -> str:
        """Return what was lost and what was found, in words."""
        told = []
        if self.cut_bytes or self.removed:
            removed = f", and the segments {self.removed} behind them" if self.removed else ""
            fault = f": {self.fault}" if self.fault else ""
            told.append(
                f"{self.cut_bytes} bytes at the end were not whole and are cut off{removed}{fault}"
            )
        if self.split:
            told.append(f"the segments {self.split} were too wide for their indexes and are split")
        return "; ".join((*told, *self.warnings))


@dataclass(slots=True)
class TailRecovery:
    """One log's recovery. `striders` are asked once, for all of its batches."""

    state: LogState
    report: RecoveryReport
    log_start: int
    now_ms: int
    striders: Striders = no_strider
    is_cutting: bool = True
    _strider: Strider | None = None

    def recover_all(self, insane: list[Segment], recovery_point: int | None) -> None:
        """Recover the insane segments, and all from the recovery point on unless that is None."""
        segments = self.state.segments
        torn = () if recovery_point is None else segments.from_floor(recovery_point)
        torn_from = torn[0].base_offset if torn else None
        doubtful = deque(sorted({*insane, *torn}, key=lambda segment: segment.base_offset))
        self._strider = self.striders(_batch_count(doubtful))
        while doubtful:
            segment = doubtful.popleft()
            is_torn = torn_from is not None and segment.base_offset >= torn_from
            cut_before = self.report.cut_bytes
            doubtful.extendleft(reversed(self._recover(segment, is_torn=is_torn)))
            if is_torn and self.report.cut_bytes > cut_before:
                return

    def _recover(self, segment: Segment, *, is_torn: bool) -> list[Segment]:
        """Recover one segment, or return those that it is now, which are to be recovered."""
        state, report = self.state, self.report
        before_cut = partial(self._before_cut, segment, is_torn)
        self._bring_producers(segment)
        try:
            done = recover(
                segment,
                partial(self._take, segment),
                strider_now=self._strider_now,
                before_cut=before_cut,
            )
        except SegmentOverflowError as error:
            parts = parts_of(segment)
            if len(parts) > 1:
                report.split.append(segment.base_offset)
                return split(state, segment, parts=parts, now_ms=self.now_ms)
            self._empty(segment, error, before_cut)
        else:
            self._note(segment, done.cut_bytes, done.fault)
            if is_torn:
                self._look_for_gap(segment, done.next_offset)
            state.producers.advance(max(done.next_offset, segment.base_offset))
            state.snapshots.take_if_room(state.producers)
        report.recovered.append(segment.base_offset)
        state.unsynced_paths += tuple(segment.paths())
        return []

    def _remove_later(self, segment: Segment) -> None:
        """Remove what lies behind the end of the log, the last one first."""
        state = self.state
        for later in reversed(tuple(state.segments)):
            if later.base_offset > segment.base_offset:
                self.report.removed.insert(0, later.base_offset)
                state.segments.remove(later)
                later.delete()
        state.table.files.sync_directory(state.directory)

    def _strider_now(self) -> Strider | None:
        """Return the strider, unless a transaction is open: then every batch counts."""
        return self._strider if self.state.producers.first_undecided_offset is None else None

    def _take(self, segment: Segment, header: BatchHeader, data: memoryview) -> None:
        """Hear of a whole batch."""
        state = self.state
        produced = ProducedBatch.of(header, data)
        state.epochs.learn(header.partition_leader_epoch, header.base_offset)
        ended = state.producers.replay(produced, state.warn)
        if ended is not None and ended[0].is_aborted:
            segment.append_aborted(AbortedEntry(*ended[0][:3], ended[1]))

    def _before_cut(self, segment: Segment, is_torn: bool, end: int) -> None:  # noqa: FBT001  # bound before
        """See what goes with the end of a segment: the later ones, where the log ends there."""
        if not self.is_cutting:
            later = [each for each in self.state.segments if each.base_offset > segment.base_offset]
            _ensure_nothing_whole(segment, end, later if is_torn else [])
        if is_torn:
            self._remove_later(segment)

    def _empty(self, segment: Segment, fault: Fault, before_cut: Callable[[int], object]) -> None:
        """Cut everything off: whole batches contradict each other, and none can be believed."""
        before_cut(0)
        self._note(segment, segment.cut_at(0), fault)
        segment.truncate_to(segment.base_offset, now_ms=self.now_ms)
        segment.become_inactive()

    def _note(self, segment: Segment, cut_bytes: int, fault: Fault | None) -> None:
        """Keep what happened. What was cut off must not come back behind what is written next."""
        self.report.cut_bytes += cut_bytes
        if cut_bytes:
            segment.files.log(writable=True).sync()
        if self.report.fault is None:
            self.report.fault = fault
        elif fault is not None:
            self.state.warn(f"{segment.files.log_path}: {fault}")

    def _look_for_gap(self, segment: Segment, next_offset: int) -> None:
        """Tell of records that a crash may have taken, where a later segment had come through.

        They stay lost and the later segment stays, as there may be no other copy of it. In a
        compacted log a gap means nothing, nor where offsets jump too far for one segment.
        """
        following = self.state.segments.above(segment)
        if following is None or self.state.config.is_compacted:
            return
        is_jump = not is_within_reach(following.base_offset, segment.base_offset)
        if next_offset < following.base_offset and not is_jump:
            self.state.warn(
                f"{segment.files.log_path}: no records from {next_offset} up to the next segment, "
                f"{following.base_offset}: if they were written they were lost before a sync"
            )

    def _bring_producers(self, segment: Segment) -> None:
        """Know what producers had done up to a segment's base."""
        state, base = self.state, segment.base_offset
        producers = state.producers
        if producers.map_end_offset == base and len(state.snapshots.offsets):
            return
        start = max(self.log_start, state.segments.first.base_offset)
        state.snapshots.truncate_and_reload(
            producers, log_start_offset=start, log_end_offset=base, now_ms=self.now_ms
        )
        state.warn(*replay(state.segments, producers, log_start=start, log_end=base))
        state.snapshots.take_if_room(producers)


def _ensure_nothing_whole(segment: Segment, end: int, later: Sequence[Segment]) -> None:
    """Refuse to cut off what can still be read."""
    behind = [(segment, end), *((each, 0) for each in later)]
    if any(settled(each.view)[0] > position for each, position in behind):
        raise CorruptMessageError(
            f"{segment.files.log_path}: damage, and whole batches behind it; no record was changed:"
            " let a broker open it that has it from a replica again when it has cut all of that"
            " off, else use cordwood log salvage",
            position=end,
        )


def _batch_count(segments: Sequence[Segment]) -> int:
    """Return about how many batches there are, going by the first ones; they are not checked."""
    if not segments:
        return 0
    first, count, size = segments[0], 0, 0
    with suppress(CorruptMessageError):
        for header in islice(headers(first.files.pread, 0, first.size), SAMPLE_BATCHES):
            count, size = count + 1, size + header.size
    return count * sum(segment.size for segment in segments) // max(1, size)
