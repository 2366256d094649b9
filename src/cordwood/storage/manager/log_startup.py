"""Loading of all logs at startup (Kafka: `LogManager.loadLogs`).

1. The directories are listed. A partition in two of them ends the start before a file is changed.
2. Directories with the suffix `-delete` are scheduled for removal, those with `-stray` stay, and
   the others are loaded on the worker.
3. A damaged log is offline alone; a disk error takes its whole directory offline.

A log whose indexes cannot be rebuilt for want of disk space stays offline until the next start: its
leader epoch and its topic id must be settled before clients are served.

An interrupted start loads no further log. Those that it has loaded are closed with the manager;
their directory is not marked as loaded, so its checkpoints stay as they are.

Any error of one load concerns that log alone: the threads of the worker use no state that logs
share, except what is thread-safe.
"""

from functools import partial
from typing import NamedTuple

from cordwood.core.errors import KernelLibraryError, StartInterruptedError
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.delayed_deletions import QueuedDeletions
from cordwood.storage.files.disk_errors import NO_SPACE, describe_error, is_disk_failure
from cordwood.storage.files.file_names import DirectorySuffix
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace, RecoveryOptions
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import FILES_PER_LOG, LogManager
from cordwood.storage.manager.partition_logs import PartitionLogs
from cordwood.storage.manager.per_directory import DirectoryTask, run_per_directory


class _LogToLoad(NamedTuple):
    """A log to load, the collection that it belongs to, and the files that its load deletes."""

    place: LogPlace
    logs: PartitionLogs
    deletions: QueuedDeletions


def load_logs(manager: LogManager) -> None:
    """Load every log.

    Raises LogDirectoryError if a name is invalid or a partition is in two places,
    StartInterruptedError after an interruption, and KernelLibraryError if recovery needs kernels
    that the library lacks: the logs are sound.
    """
    found: list[_LogToLoad] = []
    deleted: list[str] = []
    for directory in manager.online:
        with manager.failing(directory):
            _list(manager, directory, found, deleted)
    if deleted:
        manager.deletions.remove_trees_later(deleted, delay_ms=manager.settings.delete_delay_ms)
    tasks = [
        DirectoryTask(directory_of(each.place.directory), partial(_load, manager, each))
        for each in found
    ]
    threads = manager.settings.threads_per_directory
    loaded = run_per_directory(manager.ports.worker, tasks, threads=threads)
    for to_load, outcome in zip(found, loaded, strict=True):
        if not isinstance(outcome, StartInterruptedError | KernelLibraryError):
            _publish(manager, to_load, outcome)
    manager.options.check_start()
    for outcome in loaded:
        if isinstance(outcome, KernelLibraryError):
            raise outcome
    for directory in manager.online:
        directory.is_loaded = True


def _list(
    manager: LogManager, directory: LogDirectory, found: list[_LogToLoad], deleted: list[str]
) -> None:
    """Append the logs and the deleted directories of one log directory."""
    logs = {DirectorySuffix.NONE: manager.current, DirectorySuffix.FUTURE: manager.future}
    for name, (partition, suffix) in directory.partitions().items():
        if suffix is DirectorySuffix.DELETE:
            deleted.append(f"{directory.path}/{name}")
        elif suffix in logs:
            logs[suffix].claim(partition, directory)
            place = manager.place(partition, directory, name=name)
            found.append(_LogToLoad(place, logs[suffix], QueuedDeletions()))


def _load(manager: LogManager, to_load: _LogToLoad) -> Log:
    """Load a log on the worker, with open files of its own that are closed afterwards."""
    manager.options.check_start()
    ports, place = manager.ports, to_load.place
    table = OpenFileCache(ports.files, FILES_PER_LOG)
    try:
        log = Log.open(
            place,
            ports,
            table=table,
            deletions=to_load.deletions,
            recovery=RecoveryOptions(striders=manager.options.striders),
        )
        # A damaged `partition.metadata` file fails the load.
        log.topic_id = read_partition_metadata(ports.files, place.directory)
    finally:
        table.close()
    return log


def _publish(manager: LogManager, to_load: _LogToLoad, outcome: Log | Exception) -> None:
    """Make a loaded log available, unless its directory has gone offline meanwhile."""
    directory = manager.parent_of(to_load.place.directory)
    if not directory.is_online:
        return
    if isinstance(outcome, Exception):
        _load_failed(manager, to_load, outcome)
        return
    outcome.use(manager.options.open_files, manager.deletions)
    to_load.deletions.move_to(manager.deletions)
    if outcome.report.is_noteworthy:
        manager.on_event(f"{outcome.directory}: {outcome.report}")
    to_load.logs.put(outcome, directory)


def _load_failed(manager: LogManager, to_load: _LogToLoad, error: Exception) -> None:
    """Take the log offline, or its whole directory after a disk error."""
    directory = manager.parent_of(to_load.place.directory)
    reason = f"{to_load.place.directory} cannot be loaded: {describe_error(error)}"
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        reason += "; free disk space and restart"
    manager.on_event(reason)
    if is_disk_failure(error):
        manager.fail(directory, error)
    else:
        to_load.logs.mark_offline(to_load.place.partition, reason)
        directory.is_whole = False
