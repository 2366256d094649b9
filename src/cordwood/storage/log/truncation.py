"""Truncation of a log at its end or its start (Kafka: `UnifiedLog.truncateTo` and others).

    begin                   removes the records from an offset on
    begin_fully             removes all records; the log continues at a new offset
    raise_start             raises the log start; the records below stay on disk for a while
    delete_records          the same, on a client's request

Whole segments are renamed, and removed after a delay. Leader epochs and producer state are updated
last, from the remaining log.

A truncation at the end is a `SteppedChange`. The log is shorter as soon as it has begun; the rest
makes it durable, before the next append: after a crash, removed records must not come back behind
new ones.

    1. begin    the log has no later segments; bounds, epochs and producers follow
    2. job      later segments lose their names, newest first, and the directory is synced
    3. owner    the files of the last segment are truncated, no sooner: a crash must not bring back
                a later segment behind a gap
    4. job      the log file is synced

The epoch file is saved behind, but before a record of a new epoch counts. A snapshot at the new end
is synced by the next flush.
"""

from collections.abc import Sequence
from functools import partial

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.storage.files.atomic_write import sync_file
from cordwood.storage.files.file_names import DELETED
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.producer_state_rebuild import reload
from cordwood.storage.log.segment_roll import new_segment
from cordwood.storage.log.segment_swap import set_aside, take_out
from cordwood.storage.log.stepped_change import SteppedChange, Steps
from cordwood.storage.segment.log_segment import LogSegment


def begin(state: LogState, offset: int, *, now_ms: int) -> SteppedChange | None:
    """Truncate the log to end at `offset`, and return the rest of the work.

    None if no records are removed: the log ends at `offset` or below. Then an epoch that begins at
    the log end, without any record, is removed.
    """
    bounds = state.bounds
    if offset < 0:
        raise ValueError(f"{state.partition}: the log cannot be truncated to offset {offset}")
    if offset >= bounds.log_end:
        state.epochs.truncate_from_end(bounds.log_end)
        return None
    if offset < state.segments.first.base_offset:
        return begin_fully(state, offset, now_ms=now_ms)
    gone = [segment for segment in state.segments if segment.base_offset > offset]
    with state.torn_on_error():
        doomed = take_out(state, gone[::-1])
        removed = state.segments.active.cut(offset, now_ms=now_ms)
        bounds.truncate_to(offset)
        state.epochs.truncate_from_end(offset)
        _reload_producers(state, now_ms)
    return SteppedChange(state, _steps(state, offset, removed=removed, doomed=doomed))


def _steps(state: LogState, offset: int, *, removed: int, doomed: Sequence[str]) -> Steps:
    """Yield the jobs of a truncation, and truncate the files of its last segment between them."""
    files, active = state.table.files, state.segments.active
    if doomed:
        yield partial(set_aside, files, doomed, directory=state.directory)
        deleted = [f"{path}{DELETED}" for path in doomed]
        state.deletions.remove_later(deleted, delay_ms=state.config.file_delete_delay_ms)
    active.truncate_files(offset, removed)
    if removed:
        yield partial(sync_file, files, active.files.log_path)


def begin_fully(
    state: LogState, offset: int, *, now_ms: int, log_start: int | None = None
) -> SteppedChange:
    """Remove every record, continue at `offset`, and return the rest of the work."""
    with state.torn_on_error():
        _remove(state, tuple(state.segments)[::-1])
        new_segment(state, offset, now_ms=now_ms)
        state.epochs.clear()
        state.snapshots.truncate_fully(state.producers, offset)
        state.snapshots.on_log_start(state.producers, offset)
        state.bounds.reset_to(offset, log_start=log_start)
    return SteppedChange(state, _sync_names(state))


def _sync_names(state: LogState) -> Steps:
    yield partial(state.table.files.sync_directory, state.directory)


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
    reload(state, now_ms=now_ms, sync=False)
    state.producers.on_high_watermark(state.bounds.high_watermark)
    state.update_first_unstable()
