"""Directory and files of an open log, replaced (Kafka: `UnifiedLog.renameDir`).

    move    renames the directory within its log directory
    rename  the same; the caller syncs the log directory
    use     opens files through another cache, after a move to another log directory

No job may be running in between that wrote to the former directory: `log_flush` detects it, and
counts its files as unsynced.
"""

from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.delayed_deletions import DelayedDeletions
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log_state import LogState


def move(state: LogState, directory: str) -> None:
    """Rename the directory durably, and continue in it.

    If this fails, nothing has changed, unless the log is torn: then it is unknown which of the two
    names is durable.
    """
    rename(state, directory)
    with state.torn_on_error():
        state.table.files.sync_directory(directory_of(directory))


def rename(state: LogState, directory: str) -> None:
    """Rename the directory, and continue in it; if this fails, nothing has changed."""
    former = state.directory
    state.table.forget_under(former)
    state.table.files.rename(former, directory)
    with state.torn_on_error():
        unsynced = (f"{directory}{path.removeprefix(former)}" for path in state.unsynced_paths)
        state.unsynced_paths = tuple(unsynced)
        state.directory = state.epochs.directory = state.snapshots.directory = directory
        for segment in state.segments:
            segment.set_directory(directory)


def use(state: LogState, table: OpenFileCache, *, deletions: DelayedDeletions | None) -> None:
    """Open files through another cache, and pass deleted files to `deletions`, if given."""
    state.deletions = deletions or state.deletions
    state.table.forget_under(state.directory)
    state.table = table
    for segment in state.segments:
        segment.files.use_cache(table)
