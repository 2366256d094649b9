"""Flush of one log in three steps (Kafka: `UnifiedLog.flush`).

    1. begin    the owner lists the files of the segments from the recovery point on
    2. run      any thread syncs every file, then the directory if it contains new names
    3. finish   the owner advances the recovery point to the log end offset of step 1

The leader epochs and the producer snapshots are saved before step 1, so that the recovery point
never passes the start of an epoch, or a roll, that lacks its file. A job is a value, so a worker
may run it while the owner appends. A file that was renamed or removed meanwhile has been deleted
from the log and needs no fsync.

After a failed fsync the state of the pages is unknown: the recovery point stays, and the log
directory must go offline. The recovery point also stays when the log was truncated or moved
meanwhile, since the job may have synced records that the log no longer has.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from cordwood.core.ports import Files
from cordwood.storage.files.atomic_write import sync_file
from cordwood.storage.log.log_state import LogState
from cordwood.storage.segment.log_segment import LogSegment


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushJob:
    """The files to sync, whether to sync the directory, and the offset that is then durable.

    `truncations` is the number of truncations of the log at the time when the job was created.
    """

    paths: tuple[str, ...]
    directory: str
    has_new_names: bool
    offset: int
    truncations: int

    def run(self, files: Files) -> None:
        """Sync everything; OSError if one of the files cannot be synced."""
        for path in self.paths:
            with suppress(FileNotFoundError):
                sync_file(files, path)
        if self.has_new_names:
            files.sync_directory(self.directory)


def begin_flush(state: LogState) -> FlushJob | None:
    """Return the job that makes the whole log durable; None if it is durable already."""
    assert not state.epochs.has_unsaved, "epochs are saved before a flush"
    assert not state.snapshots.has_unsaved, "snapshots are saved before a flush"
    bounds = state.bounds
    is_behind = bounds.recovery_point < bounds.log_end
    has_new_names = state.unsynced_names or state.snapshots.has_new_names
    if not (is_behind or has_new_names or state.unsynced_paths):
        return None
    return _job(state, ())


def flush(state: LogState, *, now_ms: int) -> None:
    """Make a log durable before returning."""
    state.epochs.save()
    state.snapshots.save()
    job = begin_flush(state)
    if job is not None:
        job.run(state.table.files)
        finish_flush(state, job, now_ms=now_ms)


def close(state: LogState, *, now_ms: int) -> None:
    """Close the files of a log, and make it durable before returning."""
    state.segments.active.ensure_index_files()
    for segment in state.segments:
        segment.close()
    state.epochs.save()
    state.snapshots.save()
    snapshot = state.snapshots.take(state.producers, sync=False)
    job = _final_job(state, snapshot)
    job.run(state.table.files)
    finish_flush(state, job, now_ms=now_ms)


def _final_job(state: LogState, snapshot: str | None) -> FlushJob:
    """Return the job for a clean shutdown, which includes the snapshot at the log end.

    It also includes the files of an active segment without records: its indexes have been trimmed,
    and the snapshot at its base offset may be the one at the log end.
    """
    more = [] if snapshot is None else [snapshot]
    state.unsynced_names = True
    return _job(state, [*_paths(state, state.segments.active), *more])


def _job(state: LogState, more: Sequence[str]) -> FlushJob:
    bounds = state.bounds
    segments = state.segments.between(bounds.recovery_point, bounds.log_end)
    paths = [path for segment in segments for path in _paths(state, segment)]
    job = FlushJob(
        paths=tuple(dict.fromkeys((*state.unsynced_paths, *paths, *more))),
        directory=state.directory,
        has_new_names=state.unsynced_names or state.snapshots.has_new_names,
        offset=bounds.log_end,
        truncations=state.bounds.truncations,
    )
    state.unsynced_names, state.unsynced_paths = False, ()
    state.snapshots.has_new_names = False
    return job


def finish_flush(state: LogState, job: FlushJob, *, now_ms: int) -> None:
    """Advance the recovery point after a successful job, unless the log has changed since."""
    if job.truncations != state.bounds.truncations or job.directory != state.directory:
        abort_flush(state, job)
        return
    state.bounds.advance_recovery_point(job.offset)
    state.last_flush_ms = now_ms


def abort_flush(state: LogState, job: FlushJob) -> None:
    """Count the files of a job as unsynced again; in the new directory if the log has moved."""
    paths = (f"{state.directory}{path.removeprefix(job.directory)}" for path in job.paths)
    state.unsynced_names = state.unsynced_names or job.has_new_names
    state.unsynced_paths = tuple(dict.fromkeys((*state.unsynced_paths, *paths)))


def _paths(state: LogState, segment: LogSegment) -> list[str]:
    """Return the files of a segment, and the producer snapshot at its base offset."""
    paths = segment.possible_paths()
    if segment.base_offset in state.snapshots.offsets:
        paths.append(state.snapshots.path_of(segment.base_offset))
    return paths
