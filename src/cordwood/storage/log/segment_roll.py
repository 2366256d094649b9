"""Roll of a new active segment (Kafka: `UnifiedLog.roll`); `segment.roll_policy` decides when.

    1. the old segment gets its last time index entry, and its files are trimmed
    2. a snapshot of the producer state is taken at the new base offset
    3. the new log file is created; its indexes are created by its first append
    4. the old segment is marked as unsynced, for the next flush

An active segment that is empty and has the new base offset already is created again. Files that an
earlier incarnation of the log left under the new name are removed first.

The segment of a follower may begin behind a gap, beyond the log end, for the append that follows.
If that append is rejected the roll is undone. Otherwise the log end would be below the base offset
of the active segment, and a restart, which derives it from file names, would move it up.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from cordwood.core.types import Offset
from cordwood.storage.files import file_names
from cordwood.storage.log.log_state import LogState
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.roll_policy import draw_jitter_ms
from cordwood.storage.segment.segment_files import SegmentPath


def roll(state: LogState, *, now_ms: int, base_offset: int | None = None) -> LogSegment:
    """Roll a new segment at `base_offset`, or at the log end if that is higher."""
    log_end = state.bounds.log_end
    base = log_end if base_offset is None else Offset(max(base_offset, log_end))
    active = state.segments.active
    if base == active.base_offset:
        assert not active.size, f"{active!r} has batches, and the log ends where it begins"
        with state.torn_on_error():
            state.segments.remove(active)
            active.delete()
            return new_segment(state, base, now_ms=now_ms)
    active.become_inactive()
    # The recovery point may be past this segment already, so that no flush would look at it again.
    state.unsynced_paths += tuple(active.paths())
    state.producers.advance(base)
    state.snapshots.take(state.producers, sync=False)
    return new_segment(state, base, now_ms=now_ms)


@contextmanager
def rolled_within(state: LogState, *, now_ms: int) -> Iterator[None]:
    """Wrap a roll and an append; undo the roll if the append does not reach the new segment."""
    try:
        yield
    finally:
        if state.producers.map_end_offset > state.bounds.log_end:
            _undo_roll(state, now_ms=now_ms)


def new_segment(state: LogState, base_offset: int, *, now_ms: int) -> LogSegment:
    """Create an empty active segment; remove its files if the creation fails."""
    path = SegmentPath(state.directory, base_offset)
    _remove(state, path)
    try:
        segment = LogSegment.create(
            state.table,
            path,
            config=state.config,
            now_ms=now_ms,
            jitter_ms=draw_jitter_ms(state.random, state.config),
        )
    except OSError:
        _remove_for_good(state, path)
        raise
    state.segments.add(segment)
    state.unsynced_names = True
    return segment


def _undo_roll(state: LogState, *, now_ms: int) -> None:
    """Remove the new segment, so that the one before is active again."""
    bounds, active = state.bounds, state.segments.active
    with state.torn_on_error():
        if active.base_offset > bounds.log_end:
            state.segments.remove(active)
            _remove_for_good(state, active.files.path)
        state.producers.advance(bounds.log_end)
        state.snapshots.truncate_and_reload(
            state.producers,
            log_start_offset=bounds.log_start,
            log_end_offset=bounds.log_end,
            now_ms=now_ms,
        )


def _remove_for_good(state: LogState, path: SegmentPath) -> None:
    """Remove the files of a segment durably.

    After a crash they must not reappear next to records that are written from now on.
    """
    with state.torn_on_error():
        if _remove(state, path):
            state.table.files.sync_directory(state.directory)


def _remove(state: LogState, path: SegmentPath) -> bool:
    """Remove the files of a segment; return whether there were any."""
    extensions = (file_names.LOG, file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)
    doomed = [path.of(each) for each in extensions if state.table.is_file(path.of(each))]
    for each in doomed:
        state.table.remove(each)
    return bool(doomed)
