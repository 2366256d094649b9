"""A new active segment: the old one is made exact, the new one begins where the log ends.

    1. the old segment gets its last time entry, and its files are cut to what is in them
    2. a snapshot says what producers had done up to the new base
    3. the new log file is made; its indexes come with its first append
    4. what lies before it is to be flushed, soon and elsewhere

An active segment that is still empty and has the new base already is made anew. Files that an
earlier life of the log left under the new name are removed first.

A follower's segment may begin behind a gap, beyond the end of the log, for the append that is about
to be written there. When that is refused the roll is taken back: the end of the log would lie
before its active segment, and after a restart, which goes by names, behind it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from cordwood.core.types import Offset
from cordwood.storage import names
from cordwood.storage.log_state import LogState
from cordwood.storage.roll import draw_jitter_ms
from cordwood.storage.segment import Segment
from cordwood.storage.segment_files import SegmentPath


def roll(state: LogState, *, now_ms: int, base_offset: int | None = None) -> Segment:
    """Begin a new segment at `base_offset`, or where the log ends if that is later."""
    log_end = state.bounds.log_end
    base = log_end if base_offset is None else Offset(max(base_offset, log_end))
    active = state.segments.active
    if base == active.base_offset:
        assert not active.size, f"{active!r} has batches, and the log ends where it begins"
        with state.as_a_whole():
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
    """Roll and write inside: a segment beyond the end of the log stays only if it is reached."""
    try:
        yield
    finally:
        if state.producers.map_end_offset > state.bounds.log_end:
            _take_back(state, now_ms=now_ms)


def new_segment(state: LogState, base_offset: int, *, now_ms: int) -> Segment:
    """Make an empty segment the active one; what cannot be made whole leaves nothing behind."""
    path = SegmentPath(state.directory, base_offset)
    _remove(state, path)
    try:
        segment = Segment.create(
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


def _take_back(state: LogState, *, now_ms: int) -> None:
    """Let the segment before be the active one again."""
    bounds, active = state.bounds, state.segments.active
    with state.as_a_whole():
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
    """Remove a segment's files; they must not be there again behind what is written now."""
    with state.as_a_whole():
        if _remove(state, path):
            state.table.files.sync_directory(state.directory)


def _remove(state: LogState, path: SegmentPath) -> bool:
    """Remove the files that have a segment's names; say whether there were any."""
    extensions = (names.LOG, names.INDEX, names.TIME_INDEX, names.TXN_INDEX)
    doomed = [path.of(each) for each in extensions if state.table.is_file(path.of(each))]
    for each in doomed:
        state.table.remove(each)
    return bool(doomed)
