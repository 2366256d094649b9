"""The end of a log that was not closed: checked batch by batch from the recovery point on.

What lies below the recovery point has been synced and is believed. Above it the first batch that is
not whole ends the log: the rest of its segment is cut off, and later segments are removed, since a
log has no gaps. Producers and epochs are brought along, as a replica's, so that aborted
transactions get back into their indexes.
"""

from dataclasses import dataclass, field

from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from cordwood.records.header import BatchHeader
from cordwood.storage.index import AbortedEntry, IndexOrderError, SegmentOverflowError
from cordwood.storage.log_state import LogState
from cordwood.storage.producer_replay import replay
from cordwood.storage.producer_state import ProducedBatch
from cordwood.storage.segment import Segment
from cordwood.storage.segment_recovery import recover


@dataclass(slots=True)
class RecoveryReport:
    """What opening a log came to: for the operator, and for who has to know what was lost."""

    leftovers: tuple[str, ...] = ()
    recovered: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    cut_bytes: int = 0
    fault: CorruptMessageError | InvalidRecordError | IndexOrderError | None = None

    @property
    def is_worth_telling(self) -> bool:
        """Whether something was lost that had been written."""
        return bool(self.cut_bytes or self.removed)

    def __str__(self) -> str:
        """Return what was lost, in words."""
        removed = f", and the segments {self.removed} behind them" if self.removed else ""
        return f"{self.cut_bytes} bytes at the end were not whole and are cut off{removed}" + (
            f": {self.fault}" if self.fault else ""
        )


def recover_tail(
    state: LogState,
    insane: list[Segment],
    recovery_point: int | None,
    *,
    log_start: int,
    report: RecoveryReport,
    now_ms: int,
) -> None:
    """Recover the insane segments, and all from the recovery point on unless that is None."""
    torn = [] if recovery_point is None else list(state.segments.from_floor(recovery_point))
    doubtful = sorted({*insane, *torn}, key=lambda segment: segment.base_offset)
    for segment in doubtful:
        if segment.base_offset not in state.segments:
            continue
        cut_before = report.cut_bytes
        _recover(state, segment, log_start=log_start, report=report, now_ms=now_ms)
        if report.cut_bytes > cut_before:
            _remove_later(state, segment, report)
            break


def _recover(
    state: LogState, segment: Segment, *, log_start: int, report: RecoveryReport, now_ms: int
) -> None:
    """Recover one segment; what is known of producers then reaches to its end."""
    _bring_producers(state, segment, log_start=log_start, now_ms=now_ms)
    report.recovered.append(segment.base_offset)

    def on_batch(header: BatchHeader, data: memoryview) -> None:
        if header.partition_leader_epoch >= 0:
            state.epochs.assign(header.partition_leader_epoch, header.base_offset)
        ended = state.producers.replay(ProducedBatch.of(header, data))
        if ended is not None and ended[0].is_aborted:
            segment.append_aborted(AbortedEntry(*ended[0][:3], ended[1]))

    try:
        done = recover(segment, on_batch)
    except (IndexOrderError, SegmentOverflowError) as error:
        report.fault = error if isinstance(error, IndexOrderError) else None
        report.cut_bytes += segment.truncate_to(segment.base_offset, now_ms=now_ms)
        return
    report.cut_bytes += done.cut_bytes
    report.fault = report.fault or done.fault
    state.producers.advance(max(done.next_offset, segment.base_offset))
    state.snapshots.take(state.producers)
    state.unsynced_paths += tuple(segment.paths())


def _bring_producers(state: LogState, segment: Segment, *, log_start: int, now_ms: int) -> None:
    """Know what producers had done up to a segment's base."""
    producers, base = state.producers, segment.base_offset
    if producers.map_end_offset == base and len(state.snapshots.offsets):
        return
    start = max(log_start, state.segments.first.base_offset)
    state.snapshots.truncate_and_reload(
        producers, log_start_offset=start, log_end_offset=base, now_ms=now_ms
    )
    replay(state.segments, producers, log_start=start, log_end=base)


def _remove_later(state: LogState, segment: Segment, report: RecoveryReport) -> None:
    """Remove what lies behind the end of the log."""
    for later in state.segments:
        if later.base_offset > segment.base_offset:
            report.removed.append(later.base_offset)
            state.segments.remove(later)
            later.delete()
    state.unsynced_names = True
