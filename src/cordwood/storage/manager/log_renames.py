"""Renames of log directories: deletion, strays, promotion of future logs.

    delete      orders-0             -> orders-0.<unique>-delete, removed after `delete_delay_ms`
    set_aside   orders-0             -> orders-0.<unique>-stray, kept
    promote     orders-0             -> orders-0.<unique>-stray
                orders-0.<..>-future -> orders-0, in another log directory
                orders-0.<..>-stray  -> orders-0.<unique>-delete

Kafka: `LogManager.asyncDelete` and `replaceCurrentWithFutureLog`.

Between the steps of a promotion the partition has no directory, never two. No file is removed
before the second step is done, so a crash or a disk failure loses no record.

A rename that is rejected has changed nothing. One that fails half way takes its log directory
offline, because it is unknown which name is durable. If that is the second step of a promotion, the
current log stays a stray: under its old name the partition could be in two directories at the next
start.
"""

from collections.abc import Callable

from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage.files import file_names
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.partition_logs import PartitionLogs

NewName = Callable[[TopicPartition, bytes], str]


def delete(manager: LogManager, partition: TopicPartition) -> None:
    """Delete the log of a partition: at once for callers, its files after a delay."""
    _delete(manager, manager.current, partition)


def delete_future(manager: LogManager, partition: TopicPartition) -> None:
    """Delete the future log of a partition."""
    _delete(manager, manager.future, partition)


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


def _delete(manager: LogManager, logs: PartitionLogs, partition: TopicPartition) -> None:
    log = logs.require(partition)
    _rename_unique(manager, log, new_name=file_names.deleted_directory_name)
    _remove(logs, log)
    _remove_files_later(manager, log)


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


def _remove_files_later(manager: LogManager, log: Log) -> None:
    manager.deletions.remove_tree_later(log.directory, delay_ms=manager.settings.delete_delay_ms)
