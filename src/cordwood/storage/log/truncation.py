"""Truncation of a log at its end or its start (Kafka: `UnifiedLog.truncateTo` and others).

    truncate_to             removes the records from an offset on
    truncate_fully          removes all records; the log continues at a new offset
    delete_segments         raises the log start, then removes the oldest segments
    raise_start             raises the log start; the records below stay on disk for a while
    delete_records          the same, on a client's request

Whole segments are renamed at once and removed after a delay. Leader epochs and producer state are
updated last, from the remaining log.

A truncation at the end is synced before the next append: after a crash, removed records must not
come back behind new ones.
"""

from collections.abc import Sequence

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.storage.files.file_names import DELETED
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.producer_state_rebuild import reload
from cordwood.storage.log.segment_roll import new_segment
from cordwood.storage.segment.log_segment import LogSegment


def truncate_to(state: LogState, offset: int, *, now_ms: int) -> bool:
    """Truncate the log to end at `offset`; return whether records were removed.

    An epoch that begins at the log end, without any record, is removed too.
    """
    bounds = state.bounds
    if offset < 0:
        raise ValueError(f"{state.partition}: the log cannot be truncated to offset {offset}")
    if offset >= bounds.log_end:
        state.epochs.truncate_from_end(bounds.log_end)
        return False
    if offset < state.segments.first.base_offset:
        truncate_fully(state, offset, now_ms=now_ms)
        return True
    gone = [segment for segment in state.segments if segment.base_offset > offset]
    with state.torn_on_error():
        if gone:
            _remove(state, gone[::-1])
            state.table.files.sync_directory(state.directory)
        active = state.segments.active
        if active.truncate_to(offset, now_ms=now_ms):
            active.files.log(writable=True).sync()
        bounds.truncate_to(offset)
        state.epochs.truncate_from_end(offset)
        _reload_producers(state, now_ms)
    return True


def truncate_fully(
    state: LogState, offset: int, *, now_ms: int, log_start: int | None = None
) -> None:
    """Remove every record; the next one is written at `offset`."""
    with state.torn_on_error():
        _remove(state, tuple(state.segments)[::-1])
        new_segment(state, offset, now_ms=now_ms)
        state.table.files.sync_directory(state.directory)
        state.epochs.clear()
        state.snapshots.truncate_fully(state.producers, offset)
        state.snapshots.on_log_start(state.producers, offset)
        state.bounds.reset_to(offset, log_start=log_start)


def raise_start(state: LogState, offset: int) -> bool:
    """Raise the log start to `offset`, at most the high watermark; return whether it moved."""
    if not state.bounds.advance_log_start(offset):
        return False
    state.snapshots.on_log_start(state.producers, offset)
    state.update_first_unstable()
    state.epochs.truncate_from_start(offset)
    return True


def delete_records(state: LogState, offset: int) -> int:
    """Raise the log start to `offset`, -1 for the high watermark; return the log start."""
    high_watermark = state.bounds.high_watermark
    wanted = high_watermark if offset == -1 else offset
    if not 0 <= wanted <= high_watermark:
        raise OffsetOutOfRangeError(
            f"{state.partition}: records cannot be deleted up to {offset} (the high watermark is "
            f"{high_watermark})"
        )
    raise_start(state, wanted)
    return state.bounds.log_start


def delete_segments(state: LogState, segments: Sequence[LogSegment], *, log_start: int) -> None:
    """Remove the oldest segments, but not all segments of the log."""
    raise_start(state, log_start)
    with state.torn_on_error():
        _remove(state, segments)


def _remove(state: LogState, segments: Sequence[LogSegment]) -> None:
    """Rename the files of segments, and remove them after a delay.

    They are closed, since an open file would keep its disk space.
    """
    doomed: list[str] = []
    for segment in segments:
        state.segments.remove(segment)
        segment.change_suffix(DELETED)
        segment.files.forget()
        doomed += segment.paths()
        snapshot = state.snapshots.mark_for_deletion(segment.base_offset)
        doomed += [] if snapshot is None else [snapshot]
    state.unsynced_names = state.unsynced_names or bool(segments)
    state.deletions.remove_later(doomed, delay_ms=state.config.file_delete_delay_ms)


def _reload_producers(state: LogState, now_ms: int) -> None:
    """Rebuild the producer state of the remaining log from snapshots and batches."""
    reload(state, now_ms=now_ms)
    state.producers.on_high_watermark(state.bounds.high_watermark)
    state.update_first_unstable()
