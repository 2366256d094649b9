"""Truncation of a log at its end or its start (Kafka: `UnifiedLog.truncateTo` and others).

    begin                   removes the records from an offset on
    begin_fully             removes all records; the log continues at a new offset
    raise_start             raises the log start; the records below stay on disk for a while
    delete_records          the same, on a client's request

Whole segments are renamed, and removed after a delay.

A truncation at the end is a `SteppedChange`. The log is shorter as soon as it has begun; the rest
makes it durable, before the next append: after a crash, removed records must not come back behind
new ones.

    1. begin    the log has no later segments, bounds and epochs follow; no file is changed
    2. job      later segments lose their names, newest first, and the directory is synced
    3. job      the files of the last segment are truncated, no sooner: a crash must not bring back
                a later segment behind a gap. The log file is synced, and the producer state is
                rebuilt from the remaining log
    4. owner    the log takes over the producer state

    begin_fully    1. as above, with an empty segment in memory   2. job: all segments lose their
                   names, and the file of the new one is created

The epoch file is saved behind, but before a record of a new epoch counts. A snapshot at the new end
is synced by the next flush. A truncation below the high watermark may open a transaction again: the
last stable offset is the log start until step 4.
"""

from collections.abc import Sequence
from functools import partial

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.ports import Files
from cordwood.storage.files.atomic_write import sync_file
from cordwood.storage.files.file_names import DELETED
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.producer_state_rebuild import ProducerReload
from cordwood.storage.log.segment_roll import FilesJob, new_segment_files
from cordwood.storage.log.segment_swap import mark_deleted, set_aside, take_out
from cordwood.storage.log.stepped_change import SteppedChange, Steps
from cordwood.storage.segment.segment_files import SegmentCut


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
        cut = state.segments.active.cut(offset, now_ms=now_ms)
        if offset < bounds.high_watermark:
            state.unstable_from = bounds.log_start
        bounds.truncate_to(offset)
        state.epochs.truncate_from_end(offset)
        state.update_first_unstable()
        reload = ProducerReload(state, now_ms=now_ms)
    return SteppedChange(state, _steps(state, cut, doomed=doomed, reload=reload))


def _steps(
    state: LogState, cut: SegmentCut, *, doomed: Sequence[str], reload: ProducerReload
) -> Steps:
    """Yield the jobs of a truncation, and take over their results."""
    files, active = state.table.files, state.segments.active
    if doomed:
        yield partial(set_aside, files, doomed, directory=state.directory)
        _remove_later(state, doomed)
    yield partial(_cut_and_reload, files, cut, reload=reload)
    active.finish_cut(cut)
    reload.finish()


def _cut_and_reload(files: Files, cut: SegmentCut, *, reload: ProducerReload) -> None:
    """Truncate the last segment durably, and rebuild the producer state; for any thread."""
    cut.run(files)
    if cut.removed:
        sync_file(files, cut.log_path)
    reload.run(files)


def begin_fully(
    state: LogState, offset: int, *, now_ms: int, log_start: int | None = None
) -> SteppedChange:
    """Remove every record, continue at `offset`, and return the rest of the work."""
    with state.torn_on_error():
        doomed = take_out(state, tuple(state.segments)[::-1])
        files = new_segment_files(state, offset, now_ms=now_ms)
        state.epochs.clear()
        doomed += state.snapshots.begin_full_truncation(state.producers, offset)
        state.snapshots.on_log_start(state.producers, offset)
        state.unstable_from = None
        state.bounds.reset_to(offset, log_start=log_start)
    return SteppedChange(state, _full_steps(state, doomed, create=files))


def _full_steps(state: LogState, doomed: Sequence[str], *, create: FilesJob) -> Steps:
    yield partial(_start_again, state.table.files, doomed, directory=state.directory, create=create)
    _remove_later(state, doomed)


def _start_again(files: Files, doomed: Sequence[str], *, directory: str, create: FilesJob) -> None:
    """Rename the files of all segments, and create the one of the new segment, durably."""
    mark_deleted(files, doomed)
    create(files)
    files.sync_directory(directory)


def _remove_later(state: LogState, doomed: Sequence[str]) -> None:
    deleted = [f"{path}{DELETED}" for path in doomed]
    state.deletions.remove_later(deleted, delay_ms=state.config.file_delete_delay_ms)


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
