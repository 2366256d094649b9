"""Future logs: copies that replace a log in another log directory (Kafka: `LogManager.futureLogs`).

    create     an empty future log, on the worker
    promotion  the renames by which it replaces the current log, in steps

`log_renames.promote` is the same promotion at a start, when blocking is allowed. The order of the
renames, and what a failure in between leaves behind, are those that it describes.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Final, TypeAlias

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.files import file_names
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.delayed_deletions import QueuedDeletions
from cordwood.storage.files.disk_errors import is_disk_failure
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.manager.log_creation import creation_error, open_new, remove_created
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import FILES_PER_LOG, LogManager

#: The holder of the pauses of maintenance while a log moves.
MOVE: Final = "a move to another log directory"

Jobs: TypeAlias = Generator[Pending[None], None, None]


def begin_creation(
    manager: LogManager,
    partition: TopicPartition,
    *,
    directory: LogDirectory,
    topic_id: Uuid | None,
) -> Pending[Log]:
    """Begin to create an empty future log on the worker; `add` makes its result available."""
    name = file_names.future_directory_name(partition, manager.ports.random.token(16))
    place = manager.place(partition, directory, name=name, is_new=True)
    manager.being_created[directory.path] += 1
    return manager.ports.worker.submit(
        partial(_create, manager, place, topic_id), lane=Lane.BACKGROUND
    )


def add(manager: LogManager, created: Pending[Log], *, directory: LogDirectory) -> Log:
    """Make a created future log available; its maintenance is paused until its promotion."""
    manager.being_created[directory.path] -= 1
    try:
        log = created.result()
    except OSError as error:
        if is_disk_failure(error):
            manager.fail(directory, error)
        raise creation_error(directory.path, error) from error
    directory.ensure_online()
    log.use(manager.options.open_files, manager.deletions)
    manager.future.put(log, directory)
    manager.reconfigure(log)
    log.lease = log.lease.pause(MOVE)
    return log


def promotion(
    manager: LogManager, partition: TopicPartition, *, replace: Callable[[Log], object]
) -> Jobs:
    """Replace the current log by its future log; yield jobs, each of which must end before a step.

    Requires: the future log has all records of the current one and is durable; neither changes
    until the end. `replace` is called with the future log once it is the current one.
    """
    future, current = manager.future.require(partition), manager.current.require(partition)
    for log in (current, future):
        yield from log.changes.jobs()
    _ensure_present(manager, current, future)
    stray = file_names.stray_directory_name(partition, manager.ports.random.token(16))
    _rename(manager, current, name=stray)
    yield from _sync(manager, current)
    _ensure_present(manager, current, future)
    directory = manager.directory_of(future)
    try:
        _rename(manager, future, name=file_names.directory_name(partition))
    except KafkaStorageError:
        yield from _restore_name(manager, current)
        raise
    try:
        yield from _sync(manager, future)
    except KafkaStorageError:
        _keep_as_stray(manager, current, directory)
        raise
    _ensure_present(manager, current, future)
    manager.future.remove(future)
    manager.current.remove(current)
    manager.current.put(future, directory)
    for log in (current, future):
        log.lease = log.lease.resume(MOVE) if MOVE in log.lease.pausers else log.lease
    replace(future)
    yield from _delete_replaced(manager, current)


def _create(manager: LogManager, place: LogPlace, topic_id: Uuid | None) -> Log:
    """Create a log and make its name durable, on any thread."""
    ports = manager.ports
    table = OpenFileCache(ports.files, FILES_PER_LOG)
    try:
        log = open_new(place, ports, topic_id=topic_id, table=table, deletions=QueuedDeletions())
        ports.files.sync_directory(directory_of(place.directory))
    except OSError as error:
        remove_created(ports.files, place.directory, error=error)
        raise
    finally:
        table.close()
    return log


def _ensure_present(manager: LogManager, current: Log, future: Log) -> None:
    """Raise if one of the logs was deleted or lost during a job."""
    if current not in manager.current or future not in manager.future:
        raise KafkaStorageError(f"{current.partition}: the log was deleted while it moved")


def _rename(manager: LogManager, log: Log, *, name: str) -> None:
    """Rename the directory of a log; if that fails, nothing has changed."""
    with manager.using(log):
        log.begin_move(f"{manager.directory_of(log).path}/{name}")


def _sync(manager: LogManager, log: Log) -> Jobs:
    """Make the name of a log durable; a failure takes its log directory offline."""
    directory, ports = manager.directory_of(log), manager.ports
    sync = ports.worker.submit(partial(ports.files.sync_directory, directory.path), lane=Lane.FILES)
    yield sync
    error = sync.exception()
    if error is not None:
        manager.fail(directory, error)
        raise manager.fail_log(log, error)
    directory.ensure_online()


def _restore_name(manager: LogManager, current: Log) -> Jobs:
    """Give the current log its name again; its directory goes offline if that fails."""
    if current not in manager.current:
        return
    try:
        _rename(manager, current, name=file_names.directory_name(current.partition))
        yield from _sync(manager, current)
    except KafkaStorageError as error:
        manager.fail(manager.directory_of(current), error)


def _keep_as_stray(manager: LogManager, current: Log, directory: LogDirectory) -> None:
    """Keep a log whose copy may have its name: a partition is never in two directories."""
    if current in manager.current:
        manager.current.remove(current)
        manager.current.claim(current.partition, directory)
        manager.on_event(f"{current.directory} is kept: {directory.path} may have its copy")


def _delete_replaced(manager: LogManager, log: Log) -> Jobs:
    """Delete the files of a replaced log later; it stays a stray if the rename is rejected."""
    parent = manager.parent_of(log.directory)
    name = file_names.deleted_directory_name(log.partition, manager.ports.random.token(16))
    try:
        log.begin_move(f"{parent.path}/{name}")
    except OSError as error:
        manager.on_event(f"{log.directory} has been replaced and can be removed: {error}")
        return
    sync = partial(manager.ports.files.sync_directory, parent.path)
    yield manager.ports.worker.submit(sync, lane=Lane.BACKGROUND)
    log.forget_files()
    manager.deletions.remove_trees_later([log.directory], delay_ms=manager.settings.delete_delay_ms)
