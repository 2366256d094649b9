"""Creation of one log (Kafka: `LogManager.getOrCreateLog`).

A new log is placed in the online log directory with the fewest logs, or in the one that an operator
wants for its partition. Where it cannot be created,
its files are removed and the next directory is tried. Its topic id is durable before the log can be
written to, and no checkpoint contains offsets of an earlier partition of its name.
"""

from collections import Counter

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import InvalidPartitionsError, KafkaStorageError
from cordwood.core.ports import Files, Ports
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.checkpoints.partition_metadata_file import (
    ensure_same_topic,
    write_partition_metadata,
)
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.delayed_deletions import DelayedDeletions, remove_tree
from cordwood.storage.files.disk_errors import describe_error, is_disk_failure, is_name_error
from cordwood.storage.files.file_names import directory_name, ensure_topic_name
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import LogManager


class LeastLoadedDirectories:
    """The placing rule: the online directory with the fewest logs first, ties in config order."""

    def __init__(self, manager: LogManager) -> None:
        self._directories = manager.online
        self._counts = Counter({each.path: manager.count_in(each) for each in self._directories})

    def ordered(self, preferred: LogDirectory | None = None) -> list[LogDirectory]:
        """Return the directories in the order in which a new log tries them."""
        return sorted(
            self._directories, key=lambda each: (each is not preferred, self._counts[each.path])
        )

    def place(self, preferred: LogDirectory | None = None) -> LogDirectory:
        """Return the directory for a new log, and count that log as placed there."""
        directory = self.ordered(preferred)[0]
        self._counts[directory.path] += 1
        return directory


def create(
    manager: LogManager, partition: TopicPartition, *, topic_id: Uuid | None, is_new: bool = False
) -> Log:
    """Return the log of a partition, created if there is none; its topic has this id.

    While a directory is offline no log is created, because the partition may have its log there,
    unless the caller guarantees that the partition `is_new`.
    """
    log = manager.get(partition)
    if log is not None:
        _ensure_topic_id(manager, log, topic_id)
        return log
    ensure_name(partition)
    directories = LeastLoadedDirectories(manager).ordered(manager.preferred.pop(partition, None))
    outages = [each.outage for each in manager.directories if each.outage is not None]
    if not directories or (outages and not is_new):
        raise KafkaStorageError(f"{partition}: the log cannot be created: {'; '.join(outages)}")
    ensure_absent(manager, partition)
    errors = []
    for directory in directories:
        try:
            return _create_in(manager, partition, directory, topic_id=topic_id)
        except KafkaStorageError as error:
            errors.append(error)
    raise errors[0]


def _create_in(
    manager: LogManager,
    partition: TopicPartition,
    directory: LogDirectory,
    *,
    topic_id: Uuid | None,
) -> Log:
    place = new_place(manager, partition, directory=directory)
    try:
        manager.checkpoints.forget(partition, directory)
        log = open_new(
            place,
            manager.ports,
            topic_id=topic_id,
            table=manager.options.open_files,
            deletions=manager.deletions,
        )
    except OSError as error:
        _undo(manager, place.directory, error=error)
        raise creation_error(place.directory, error) from error
    manager.current.put(log, directory)
    return log


def new_place(
    manager: LogManager, partition: TopicPartition, *, directory: LogDirectory
) -> LogPlace:
    """Return the parameters of a new log."""
    return manager.place(partition, directory, name=directory_name(partition), is_new=True)


def open_new(
    place: LogPlace,
    ports: Ports,
    *,
    topic_id: Uuid | None,
    table: OpenFileCache,
    deletions: DelayedDeletions,
) -> Log:
    """Create the directory of a log and its first files; use no state that logs share."""
    log = Log.open(place, ports, table=table, deletions=deletions)
    if topic_id is not None:
        write_partition_metadata(ports.files, place.directory, topic_id=topic_id)
        log.topic_id = topic_id
    return log


def _ensure_topic_id(manager: LogManager, log: Log, topic_id: Uuid | None) -> None:
    """Reject the log of another topic; a log without a topic id gets this one."""
    if topic_id is None:
        return
    found = manager.topic_id(log.partition)
    ensure_same_topic(found, topic_id, directory=log.directory)
    if found is None:
        with manager.using(log):
            write_partition_metadata(manager.ports.files, log.directory, topic_id=topic_id)
        log.topic_id = topic_id


def ensure_name(partition: TopicPartition) -> None:
    """Reject an invalid topic name or partition number."""
    ensure_topic_name(partition.topic)
    if not 0 <= partition.partition <= INT32_MAX:
        raise InvalidPartitionsError(
            f"{partition}: the partition number is not between 0 and {INT32_MAX}"
        )


def ensure_absent(manager: LogManager, partition: TopicPartition) -> None:
    """Reject a partition whose directory appeared after the log directory was loaded.

    A second directory elsewhere would put the partition in two places at the next start.
    """
    for directory in manager.online:
        path = f"{directory.path}/{directory_name(partition)}"
        if _is_directory(manager.ports.files, path):
            raise KafkaStorageError(
                f"{path}: the directory exists but has not been loaded; restart to load it, or "
                "move it away"
            )


def _is_directory(files: Files, path: str) -> bool:
    try:
        return files.stat(path).is_directory
    except OSError:
        # The creation of the log meets this error again and reports it.
        return False


def _undo(manager: LogManager, path: str, *, error: OSError) -> None:
    """Remove the files of a log that could not be created, or take its directory offline."""
    directory = manager.parent_of(path)
    if is_disk_failure(error):
        manager.fail(directory, error)
    with manager.failing(directory):
        manager.options.open_files.forget_under(path)
    removal_error = remove_created(manager.ports.files, path, error=error)
    if removal_error is not None:
        manager.fail(directory, removal_error)


def remove_created(files: Files, path: str, *, error: OSError) -> OSError | None:
    """Remove the files of a log that could not be created; return the error of the removal.

    The removal is durable: otherwise a crash could leave the partition in two directories.
    """
    # An unusable name means that no file was created under it.
    if is_disk_failure(error) or is_name_error(error):
        return None
    try:
        remove_tree(files, path)
        files.sync_directory(directory_of(path))
    except OSError as removal_error:
        return removal_error
    return None


def creation_error(path: str, error: Exception) -> KafkaStorageError:
    """Return the error for a log that could not be created."""
    if isinstance(error, KafkaStorageError):
        return error
    wrapped = KafkaStorageError(f"{path}: the log could not be created: {describe_error(error)}")
    wrapped.__cause__ = error
    return wrapped
