"""From written to durable: what has to be synced, in which order, and what may be said afterwards.

    1. begin    the owner lists the files of the segments from the recovery point on
    2. run      anywhere, for as long as it takes: every file, then the directory if names are new
    3. finish   the owner raises the recovery point to where the log ended at 1

A job is a value, so a worker may run it while the owner appends. What has been renamed or removed
meanwhile was deleted, and needs no sync any more. When a sync fails nothing is known of the pages:
the recovery point stays, and the log directory is at its end. It also stays when the log has been
cut or moved meanwhile: what the job has synced may be other records than those that are there now.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cordwood.core.ports import Files
from cordwood.storage.log_state import LogState
from cordwood.storage.segment import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushJob:
    """The files to sync, the directory if its names are new, and the offset that is then safe.

    `cuts` says how often the log had been cut when the job was made.
    """

    paths: tuple[str, ...]
    directory: str
    has_new_names: bool
    offset: int
    cuts: int

    def run(self, files: Files) -> None:
        """Sync everything; OSError if something could not be."""
        for path in self.paths:
            try:
                file = files.open(path, writable=True)
            except FileNotFoundError:
                continue
            try:
                file.sync()
            finally:
                file.close()
        if self.has_new_names:
            files.sync_directory(self.directory)


def begin_flush(state: LogState) -> FlushJob | None:
    """Return what has to be synced for everything to be safe; None if it is already."""
    bounds = state.bounds
    is_behind = bounds.recovery_point < bounds.log_end
    if not (is_behind or state.unsynced_names or state.unsynced_paths):
        return None
    return _job(state, ())


def final_flush(state: LogState, snapshot: str | None) -> FlushJob:
    """Return what has to be synced for a clean stop, the snapshot at the end of the log included.

    The files of an active segment without records count too: its indexes have been cut to size, and
    the snapshot at its base may be the one at the end.
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
        has_new_names=state.unsynced_names,
        offset=bounds.log_end,
        cuts=state.bounds.cuts,
    )
    state.unsynced_names, state.unsynced_paths = False, ()
    return job


def finish_flush(state: LogState, job: FlushJob, *, now_ms: int) -> None:
    """Everything in the job is durable, if it was about the log that there is now."""
    if job.cuts != state.bounds.cuts or job.directory != state.directory:
        failed_flush(state, job)
        return
    state.bounds.flushed(job.offset)
    state.last_flush_ms = now_ms


def failed_flush(state: LogState, job: FlushJob) -> None:
    """The job came to nothing: what it was to sync counts as unsynced again.

    Of a log that has been moved meanwhile the same files are meant, in its new directory.
    """
    paths = (f"{state.directory}{path.removeprefix(job.directory)}" for path in job.paths)
    state.unsynced_names = state.unsynced_names or job.has_new_names
    state.unsynced_paths = tuple(dict.fromkeys((*state.unsynced_paths, *paths)))


def _paths(state: LogState, segment: Segment) -> list[str]:
    """Return a segment's files, and the snapshot at its base."""
    paths = segment.paths()
    if segment.base_offset in state.snapshots.offsets:
        paths.append(state.snapshots.path_of(segment.base_offset))
    return paths
