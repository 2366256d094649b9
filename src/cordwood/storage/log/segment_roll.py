"""Roll of a new active segment (Kafka: `UnifiedLog.roll`); `segment.roll_policy` decides when.

    1. job     the new log file is created, and its indexes if an append follows
    2. job     the old segment gets its last time index entry, and its files are trimmed
    3. job     a snapshot of the producer state is written at the new base offset; if there are many
               producers, it stays in memory
    4. owner   the new segment is active; the old one is unsynced until the next flush

The job may run on any thread, because a file system that commits its journal blocks such calls.
Without an append that follows, the indexes are created by the first one.

A job that fails removes the new files durably, and the old segment stays active. An active segment
that is empty and has the new base offset already is created again. Files that an earlier
incarnation of the log left under the new name are removed first.

The segment of a follower may begin behind a gap, beyond the log end, for the append that follows.
If that append is rejected the roll is undone. Otherwise the log end would be below the base offset
of the active segment, and a restart, which derives it from file names, would move it up.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from cordwood.core.ports import Files
from cordwood.core.types import Offset
from cordwood.storage.files import file_names
from cordwood.storage.files.atomic_write import is_file
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.stepped_change import SteppedChange, Steps, run_steps
from cordwood.storage.producers.snapshot_save import SnapshotTake
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.roll_policy import draw_jitter_ms
from cordwood.storage.segment.segment_files import (
    IndexGrowths,
    SegmentPath,
    SegmentTrim,
    TornWriteError,
)

#: Work on files, for any thread.
FilesJob: TypeAlias = Callable[[Files], None]

_EXTENSIONS: Final = (file_names.LOG, file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)


class _RollFiles:
    """The work of a roll on files."""

    __slots__ = ("_growths", "_path", "_preallocated_size", "_snapshot", "_trim")

    def __init__(
        self,
        path: SegmentPath,
        preallocated_size: int,
        *,
        growths: IndexGrowths | None,
        trim: SegmentTrim | None,
        snapshot: SnapshotTake | None,
    ) -> None:
        self._path = path
        self._preallocated_size = preallocated_size
        self._growths = growths
        self._trim = trim
        self._snapshot = snapshot

    def run(self, files: Files) -> None:
        """Do all of it, or nothing; TornWriteError if neither is possible. For any thread."""
        try:
            self._run(files)
        except OSError:
            try:
                _remove_for_good(files, self._path)
            except OSError as error:
                raise TornWriteError(error.errno, error.strerror, error.filename) from error
            raise

    def _run(self, files: Files) -> None:
        _remove(files, self._path)
        log = files.create(self._path.of(file_names.LOG))
        try:
            if self._preallocated_size:
                log.preallocate(self._preallocated_size)
        finally:
            log.close()
        if self._growths is not None:
            self._growths.run(files)
        if self._trim is not None:
            self._trim.run(files)
        if self._snapshot is not None:
            self._snapshot.run(files)


def roll(state: LogState, *, now_ms: int, base_offset: int | None = None) -> LogSegment:
    """Roll a new segment at `base_offset`, or at the log end if that is higher."""
    base = base_of(state, base_offset)
    active = state.segments.active
    if base == active.base_offset:
        assert not active.size, f"{active!r} has batches, and the log ends where it begins"
        with state.torn_on_error():
            state.segments.remove(active)
            active.delete()
            return new_segment(state, base, now_ms=now_ms)
    run_steps(steps(state, base, now_ms=now_ms, is_for_append=False))
    return state.segments.active


def begin(state: LogState, *, now_ms: int) -> SteppedChange | None:
    """Return the roll at the log end, None if the active segment begins there."""
    base = base_of(state, None)
    if base == state.segments.active.base_offset:
        return None
    return SteppedChange(
        state, steps(state, base, now_ms=now_ms, is_for_append=False), undoes_errors=True
    )


def base_of(state: LogState, base_offset: int | None) -> Offset:
    """Return the base offset of a new segment, which is at or above the log end."""
    log_end = state.bounds.log_end
    return log_end if base_offset is None else Offset(max(base_offset, log_end))


def steps(state: LogState, base: Offset, *, now_ms: int, is_for_append: bool) -> Steps:
    """Yield the jobs of a roll at a base offset that no segment has, and change the log."""
    files, active = state.table.files, state.segments.active
    if not active.files.is_growing:
        # No append since the log was opened.
        old_growths = active.files.growths()
        yield partial(old_growths.run, files)
        old_growths.finish()
    trim = active.files.trim_with(active.latest, size=active.size)
    state.producers.advance(base)
    snapshot = state.snapshots.begin_take(state.producers)
    segment = _empty_segment(state, base, now_ms=now_ms)
    growths = segment.files.growths() if is_for_append else None
    work = _work(state, segment, growths=growths, trim=trim, snapshot=snapshot)
    try:
        yield partial(work.run, files)
    except TornWriteError:
        state.is_torn = True
        raise
    active.finish_trim(trim)
    # The recovery point may be past this segment already, so that no flush would look at it again.
    state.unsynced_paths += tuple(active.possible_paths())
    if snapshot is not None:
        state.snapshots.finish_take(snapshot, state.producers)
    _add(state, segment, growths)


def undo_unreached_roll(state: LogState, *, now_ms: int) -> None:
    """Undo a roll behind a gap if the append after it has not reached the new segment."""
    if state.producers.map_end_offset > state.bounds.log_end:
        _undo_roll(state, now_ms=now_ms)


def new_segment(state: LogState, base_offset: int, *, now_ms: int) -> LogSegment:
    """Create an empty active segment; remove its files if the creation fails."""
    segment = _empty_segment(state, base_offset, now_ms=now_ms)
    try:
        _work(state, segment).run(state.table.files)
    except TornWriteError:
        state.is_torn = True
        raise
    _add(state, segment)
    return segment


def new_segment_files(state: LogState, base_offset: int, *, now_ms: int) -> FilesJob:
    """Add an empty active segment; return the creation of its files, for any thread."""
    segment = _empty_segment(state, base_offset, now_ms=now_ms)
    _add(state, segment)
    return _work(state, segment).run


def _empty_segment(state: LogState, base_offset: int, *, now_ms: int) -> LogSegment:
    """Return the new segment in memory; files of an earlier incarnation are closed."""
    path = SegmentPath(state.directory, base_offset)
    for each in _EXTENSIONS:
        state.table.forget(path.of(each))
    segment = LogSegment.empty(
        state.table,
        path,
        config=state.config,
        now_ms=now_ms,
        jitter_ms=draw_jitter_ms(state.random, state.config),
    )
    segment.files.declare_new(is_preallocated=state.config.preallocate)
    return segment


def _work(
    state: LogState,
    segment: LogSegment,
    *,
    growths: IndexGrowths | None = None,
    trim: SegmentTrim | None = None,
    snapshot: SnapshotTake | None = None,
) -> _RollFiles:
    size = state.config.segment_bytes if state.config.preallocate else 0
    return _RollFiles(segment.files.path, size, growths=growths, trim=trim, snapshot=snapshot)


def _add(state: LogState, segment: LogSegment, growths: IndexGrowths | None = None) -> None:
    """Make the new segment, whose files exist, the active one."""
    if growths is not None:
        growths.finish()
    state.segments.add(segment)
    state.unsynced_names = True


def _undo_roll(state: LogState, *, now_ms: int) -> None:
    """Remove the new segment, so that the one before is active again."""
    bounds, active = state.bounds, state.segments.active
    with state.torn_on_error():
        if active.base_offset > bounds.log_end:
            state.segments.remove(active)
            active.files.forget()
            _remove_for_good(state.table.files, active.files.path)
        state.producers.advance(bounds.log_end)
        state.snapshots.truncate_and_reload(
            state.producers,
            log_start_offset=bounds.log_start,
            log_end_offset=bounds.log_end,
            now_ms=now_ms,
        )


def _remove_for_good(files: Files, path: SegmentPath) -> None:
    """Remove the files of a segment durably.

    After a crash they must not reappear next to records that are written from now on.
    """
    if _remove(files, path):
        files.sync_directory(path.directory)


def _remove(files: Files, path: SegmentPath) -> bool:
    """Remove the files of a segment; return whether there were any."""
    doomed = [path.of(each) for each in _EXTENSIONS if is_file(files, path.of(each))]
    for each in doomed:
        files.remove(each)
    return bool(doomed)
