"""Renames of log directories: deletion, strays, promotion of future logs.

    delete      orders-0             -> orders-0.<unique>-delete, removed after `delete_delay_ms`
    set_aside   orders-0             -> orders-0.<unique>-stray, kept
    promote     orders-0             -> orders-0.<unique>-stray
                orders-0.<..>-future -> orders-0, in another log directory
                orders-0.<..>-stray  -> orders-0.<unique>-delete

Kafka: `LogManager.asyncDelete` and `replaceCurrentWithFutureLog`.

A `LogDeletion` deletes many logs without an fsync on the owner's thread:

    add         on the owner's thread: the partition has no log from then on
    jobs        of changes of these logs, to be waited for; the other steps are left out
    rename      on the owner's thread, one log a step
    begin_sync  on the worker: one fsync of each log directory
    finish      on the owner's thread: the removal of the files is scheduled

Between the steps of a promotion the partition has no directory, never two. No file is removed
before the second step is done, so a crash or a disk failure loses no record.

A rename that is rejected has changed nothing. One that fails half way takes its log directory
offline, because it is unknown which name is durable. If that is the second step of a promotion, the
current log stays a stray: under its old name the partition could be in two directories at the next
start.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.core.types import TopicPartition
from cordwood.storage.files import file_names
from cordwood.storage.files.disk_errors import describe_error
from cordwood.storage.log.log import Log
from cordwood.storage.manager.deleted_ranges import whole_log
from cordwood.storage.manager.log_checkpoints import LOGS_PER_TURN
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.partition_logs import PartitionLogs

NewName = Callable[[TopicPartition, bytes], str]


class LogDeletion:
    """Logs in deletion; the files of a log that could not be renamed stay."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._added: list[tuple[PartitionLogs, Log]] = []
        self._renamed: dict[str, list[tuple[PartitionLogs, Log]]] = {}
        self._syncs: dict[str, Pending[None]] = {}

    def add(self, partition: TopicPartition) -> None:
        """Remove the log of a partition from the manager; KafkaStorageError if it is offline."""
        self._add(self._manager.current, partition)

    def add_future(self, partition: TopicPartition) -> None:
        """Remove the future log of a partition from the manager."""
        self._add(self._manager.future, partition)

    @property
    def jobs(self) -> list[Pending[None]]:
        """The jobs that may still use the former directories; they must be done before `rename`."""
        return [job for _, log in self._added for job in log.changes.jobs()]

    def rename(self) -> Iterator[KafkaStorageError | None]:
        """Rename the directories; a log whose directory keeps its name returns to the manager."""
        while self._added:
            yield self._rename(*self._added.pop())

    def begin_sync(self) -> list[Pending[None]]:
        """Begin one fsync of each log directory that has a renamed log."""
        ports = self._manager.ports
        self._syncs = {
            path: ports.worker.submit(
                partial(ports.files.sync_directory, path), lane=Lane.BACKGROUND
            )
            for path in self._renamed
        }
        return [*self._syncs.values()]

    def finish(self) -> Iterator[list[KafkaStorageError]]:
        """Remove the files after a delay, once the fsyncs are done; each step handles a few logs.

        A failed fsync takes its directory offline, and its step yields the error. The partitions
        count as offline too, because the next start may find their old names.
        """
        for path, renamed in self._renamed.items():
            yield self._fail(renamed[0][1], self._syncs[path].exception())
            while renamed:
                # The memory of a thousand logs is not freed in one turn either.
                self._finish([renamed.pop() for _ in range(min(LOGS_PER_TURN, len(renamed)))])
                yield []

    def _fail(self, log: Log, error: BaseException | None) -> list[KafkaStorageError]:
        if error is None:
            return []
        self._manager.fail(self._manager.directory_of(log), error)
        return [KafkaStorageError(f"{log.directory}: {describe_error(error)}")]

    def _finish(self, batch: Sequence[tuple[PartitionLogs, Log]]) -> None:
        """Remove the files of logs in one directory later, or mark the partitions as offline."""
        manager = self._manager
        directory = manager.directory_of(batch[0][1])
        if directory.is_online:
            _remove_files_later(manager, *(log for _, log in batch))
            for logs, log in batch:
                if logs is manager.current:
                    manager.options.on_deleted(whole_log(log))
            return
        for logs, log in batch:
            if log.partition not in logs.directories:
                logs.claim(log.partition, directory)

    def _add(self, logs: PartitionLogs, partition: TopicPartition) -> None:
        log = logs.require(partition)
        _remove(logs, log)
        self._added.append((logs, log))

    def _rename(self, logs: PartitionLogs, log: Log) -> KafkaStorageError | None:
        manager = self._manager
        directory = manager.directory_of(log)
        name = file_names.deleted_directory_name(log.partition, manager.ports.random.token(16))
        try:
            with manager.using(log):
                log.begin_move(f"{directory.path}/{name}")
        except KafkaStorageError as error:
            if directory.is_online:
                logs.put(log, directory)
            else:
                logs.claim(log.partition, directory)
            return error
        self._renamed.setdefault(directory.path, []).append((logs, log))
        return None


def delete(manager: LogManager, partition: TopicPartition) -> None:
    """Delete the log of a partition: at once for callers, its files after a delay.

    Waits for the fsync.
    """
    deletion = LogDeletion(manager)
    deletion.add(partition)
    _complete(deletion)


def delete_future(manager: LogManager, partition: TopicPartition) -> None:
    """Delete the future log of a partition; waits for the fsync."""
    deletion = LogDeletion(manager)
    deletion.add_future(partition)
    _complete(deletion)


def set_aside(manager: LogManager, partition: TopicPartition) -> None:
    """Keep the files of a log that belongs to no topic, for the operator to decide."""
    log = manager.current.require(partition)
    _rename_unique(manager, log, new_name=file_names.stray_directory_name)
    _remove(manager.current, log)


def promote(manager: LogManager, partition: TopicPartition) -> Log:
    """Replace the current log, if there is one, by the future log; return the future log."""
    future = manager.future.require(partition)
    current = manager.current.get(partition)
    # The copied records must be durable before the current log gives up its name.
    _flush(manager, future)
    if current is not None:
        future.set_high_watermark(current.bounds.high_watermark)
        future.bounds.cleaned_to = current.bounds.cleaned_to
        _rename_unique(manager, current, new_name=file_names.stray_directory_name)
    directory = manager.directory_of(future)
    try:
        _rename(manager, future, name=file_names.directory_name(partition))
    except KafkaStorageError:
        if current is not None and future.is_torn:
            _remove(manager.current, current)
            manager.current.claim(partition, directory)
            manager.on_event(f"{current.directory} is kept: {directory.path} may have its copy")
        elif current is not None:
            _restore_name(manager, current)
        raise
    manager.future.remove(future)
    if current is not None:
        _remove(manager.current, current)
    manager.current.put(future, directory)
    if current is not None:
        _delete_replaced(manager, current)
    return future


def _complete(deletion: LogDeletion) -> None:
    """Wait for the jobs and the fsyncs of a deletion; KafkaStorageError if one fails."""
    for job in deletion.jobs:
        job.exception()
    errors = [error for error in deletion.rename() if error is not None]
    deletion.begin_sync()
    errors += [error for step in deletion.finish() for error in step]
    if errors:
        raise errors[0]


def _flush(manager: LogManager, log: Log) -> None:
    """Make the whole log durable; a failed fsync takes its directory offline."""
    with manager.using(log):
        try:
            log.flush()
        except OSError as error:
            raise manager.fail_log(log, error) from error


def _restore_name(manager: LogManager, log: Log) -> None:
    """Undo the first step of a promotion; its directory goes offline if that fails."""
    try:
        _rename(manager, log, name=file_names.directory_name(log.partition))
    except KafkaStorageError as error:
        manager.fail(manager.directory_of(log), error)


def _delete_replaced(manager: LogManager, log: Log) -> None:
    """Delete a log that has been replaced; it stays a stray if the rename is rejected."""
    try:
        _rename_unique(manager, log, new_name=file_names.deleted_directory_name)
    except KafkaStorageError as error:
        manager.on_event(f"{log.directory} has been replaced and can be removed: {error}")
    else:
        _remove_files_later(manager, log)


def _rename_unique(manager: LogManager, log: Log, *, new_name: NewName) -> None:
    """Rename the directory of a log to a unique name that no partition has."""
    _rename(manager, log, name=new_name(log.partition, manager.ports.random.token(16)))


def _rename(manager: LogManager, log: Log, *, name: str) -> None:
    directory = manager.directory_of(log)
    with manager.using(log):
        log.move(f"{directory.path}/{name}")


def _remove(logs: PartitionLogs, log: Log) -> None:
    """Remove a log from the manager, and abort the maintenance work on it."""
    logs.remove(log)
    log.lease = log.lease.abort()


def _remove_files_later(manager: LogManager, *logs: Log) -> None:
    paths = [log.directory for log in logs]
    manager.deletions.remove_trees_later(paths, delay_ms=manager.settings.delete_delay_ms)
