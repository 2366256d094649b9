"""All logs of all log directories of a process (Kafka: `LogManager`).

    log_startup     loads the logs, a few at a time, before any other call
    log_creation    creates logs, one by one or in bulk
    log_renames     deletes logs, sets them aside, promotes future logs
    checkpoints     writes the offset checkpoints of the logs
    using           wraps every call into a log and handles the errors of its disk
    close           flushes and closes the logs, writes the checkpoints, marks the clean shutdown

A disk that fails takes its log directory offline with all logs in it; other directories continue.
Too little space, too few descriptors and an unusable name do not: the call fails, and the log stays
usable. They do take the directory offline when they leave the log torn, or when they fail an fsync,
since data that was written before may then be lost.

Everything but the jobs of the worker runs on one thread, the owner's.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from cordwood.core.errors import BadRecordsError, DamagedFileError, KafkaStorageError
from cordwood.core.ports import LoopPorts, Pending
from cordwood.core.types import TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.records.tail_scan import TailScanners, no_tail_scanner
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.checkpoints.clean_shutdown_file import UNKNOWN_BROKER_EPOCH
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.delayed_deletions import ScheduledDeletions
from cordwood.storage.files.disk_errors import (
    NO_DESCRIPTORS,
    describe_error,
    is_disk_failure,
    is_name_error,
)
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager.checkpoint_writer import CallSoon, CheckpointWriter
from cordwood.storage.manager.deleted_ranges import DeletedRange
from cordwood.storage.manager.log_checkpoints import LogCheckpoints
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.partition_logs import PartitionLogs
from cordwood.storage.manager.per_directory import DirectoryTask, run_per_directory
from cordwood.storage.manager.task_failures import TaskFailures
from cordwood.storage.manager.transient_errors import TransientErrors
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from cordwood.storage.segment.abstract_index import UnfitEntryError

#: Files that one log needs open while it is loaded or closed.
FILES_PER_LOG: Final = 8

#: The errors by which a log reports its disk and its files.
_FAULTS: Final = (OSError, DamagedFileError, BadRecordsError, UnfitEntryError)

ConfigFor = Callable[[TopicName], LogConfig]
OnEvent = Callable[[str], object]
OnLost = Callable[[Sequence[Log]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerSettings:
    """Settings of all logs: `config_for` returns a topic's values, the others are the broker's.

    `threads_per_directory` is the number of threads that load and close the logs of a directory.
    """

    config_for: ConfigFor
    producers: ProducerStateManagerConfig = field(default_factory=ProducerStateManagerConfig)
    delete_delay_ms: int = 60_000
    threads_per_directory: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """Shared resources and callbacks of a manager.

    `call_soon` is thread-safe and runs a call on the owner's thread. `on_event` receives messages
    for the operator, on any thread; `on_outage` those about directories that go offline.
    `on_task_failure` is called for every log whose periodic task has failed. `striders` speed up
    the recovery of logs that were not closed; they are called on the worker. `check_start` raises
    StartInterruptedError, on any thread, if the start is to end. `on_deleted` receives the segments
    that a round of retention, or the deletion of a topic, has deleted.
    """

    open_files: OpenFileCache
    call_soon: CallSoon
    on_event: OnEvent
    on_outage: OnEvent | None = None
    on_task_failure: Callable[[], object] = lambda: None
    striders: TailScanners = no_tail_scanner
    check_start: Callable[[], object] = lambda: None
    on_deleted: Callable[[DeletedRange], object] = lambda _: None


class LogUse:
    """The context of a call into a log; see `LogManager.using`.

    A class, because most requests enter several: `contextmanager` takes three times as long. One
    context serves any number of calls; it looks for the log directory when the log has moved.
    """

    __slots__ = ("_log", "_manager", "_parent", "_path")

    def __init__(self, manager: "LogManager", log: Log) -> None:
        self._manager = manager
        self._log = log
        self._path = ""
        self._parent: LogDirectory | None = None

    def __enter__(self) -> None:
        path = self._log.directory
        if self._parent is None or path is not self._path:
            self._path, self._parent = path, self._manager.parent_of(path)
        self._parent.ensure_online()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            found = self._manager.error_of(self._log, error)
            if found is not error:
                try:
                    raise found from error
                finally:
                    del found, error  # or the frame, which the error refers to, would keep it


class LogManager:
    """The logs of this process by partition, and the log directories that hold them.

    `current` holds the logs in use. `future` holds the logs that are copied from one log directory
    to another and replace a current log when they are promoted.
    """

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        ports: LoopPorts,
        settings: ManagerSettings,
        options: ManagerOptions,
    ) -> None:
        self.directories = tuple(directories)
        self.ports, self.settings, self.options = ports, settings, options
        self.current, self.future = PartitionLogs(), PartitionLogs()
        self.on_event = options.on_event
        self.transient_errors = TransientErrors(ports.clock, options.on_event)
        self.failures = TaskFailures(options.on_event, options.on_task_failure)
        self.deletions = self._scheduled_deletions()
        self.checkpoints = LogCheckpoints(
            self.directories,
            (self.current, self.future),
            CheckpointWriter(ports.worker, options.call_soon, on_error=self._checkpoint_failed),
            on_failure=self.failures.report,
        )
        self.being_created = Counter[str]()  # by the path of the log directory
        self.preferred: dict[TopicPartition, LogDirectory] = {}  # of logs that do not exist yet
        self._by_path = {each.path: each for each in directories}
        self._lost_callbacks: list[OnLost] = []

    def _scheduled_deletions(self) -> ScheduledDeletions:
        ports, on_event = self.ports, self.on_event
        return ScheduledDeletions(
            ports.files,
            ports.scheduler,
            ports.worker,
            now_ms=ports.clock.monotonic_ms,
            on_error=lambda path, error: on_event(f"{path}: could not be removed ({error})"),
        )

    # -- log directories

    @property
    def online(self) -> list[LogDirectory]:
        """The log directories that can be used."""
        return [directory for directory in self.directories if directory.is_online]

    @property
    def is_serving(self) -> bool:
        """Whether at least one log directory is online."""
        return bool(self.online)

    @property
    def is_whole(self) -> bool:
        """Whether every log directory is online, so that an unknown log does not exist at all."""
        return len(self.online) == len(self.directories)

    def directory_of(self, log: Log) -> LogDirectory:
        """Return the log directory that contains a log."""
        return self.parent_of(log.directory)

    def find_directory(self, path: str) -> LogDirectory | None:
        """Return the log directory of a path, None if it is not one."""
        return self._by_path.get(path)

    def parent_of(self, path: str) -> LogDirectory:
        """Return the log directory that contains the directory of a partition."""
        return self._by_path[directory_of(path)]

    def count_in(self, directory: LogDirectory) -> int:
        """Return the number of current and future logs in a directory, or in creation there."""
        present = (part.in_directory(directory) for part in (self.current, self.future))
        return sum(map(len, present)) + self.being_created[directory.path]

    # -- logs

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        """The usable current logs by partition."""
        return MappingProxyType(self.current.logs)

    @property
    def futures(self) -> Mapping[TopicPartition, Log]:
        """The usable future logs by partition."""
        return MappingProxyType(self.future.logs)

    def all_logs(self) -> list[Log]:
        """Return the current and the future logs."""
        return [*self.current.logs.values(), *self.future.logs.values()]

    def logs_of(self, topic: TopicName) -> list[Log]:
        """Return the current and the future logs of a topic."""
        return [
            log for part in (self.current, self.future) for log in part.of_topic(topic).values()
        ]

    def has(self, log: Log) -> bool:
        """Return whether a log is one of this manager's and can be used."""
        return log in self.current or log in self.future

    def has_partition(self, partition: TopicPartition) -> bool:
        """Return whether a partition has a current log, online or offline."""
        return partition in self.current.directories

    def get(self, partition: TopicPartition) -> Log | None:
        """Return the log of a partition, or None; KafkaStorageError if the log is offline."""
        return self.current.get(partition)

    def topic_id(self, partition: TopicPartition) -> Uuid | None:
        """Return the topic id in the `partition.metadata` file of a log, None without a file.

        The file is read once: the topic of a log does not change.
        """
        log = self.current.require(partition)
        if log.topic_id is None:
            with self.using(log):
                log.topic_id = read_partition_metadata(self.ports.files, log.directory)
        return log.topic_id

    def place(
        self,
        partition: TopicPartition,
        directory: LogDirectory,
        *,
        name: str,
        is_new: bool = False,
    ) -> LogPlace:
        """Return the parameters for opening a log: its config and its checkpointed offsets.

        The checkpoints of an earlier partition of the same name are ignored for a new log.
        """
        found = {} if is_new else directory.checkpoints
        return LogPlace(
            partition=partition,
            directory=f"{directory.path}/{name}",
            config=self.settings.config_for(partition.topic),
            is_clean=directory.is_clean or is_new,
            recovery_point=found.get(RECOVERY_POINTS, {}).get(partition, 0),
            log_start=found.get(LOG_START_OFFSETS, {}).get(partition, 0),
            high_watermark=found.get(HIGH_WATERMARKS, {}).get(partition, 0),
            cleaned_to=found.get(CLEANER_OFFSETS, {}).get(partition),
            producers=self.settings.producers,
        )

    # -- disk errors

    def using(self, log: Log) -> "LogUse":
        """Wrap a call into a log: errors of its disk are re-raised as KafkaStorageError.

        So is every error that leaves the log torn, since the log must not be used any more. If no
        descriptor is free, idle files are closed, so that the next call may succeed.
        KafkaStorageError also if the log's directory is offline before the call.
        """
        return LogUse(self, log)

    def error_of(self, log: Log, error: Exception) -> Exception:
        """Return the error for the caller of a log that has raised one."""
        if isinstance(error, _FAULTS):
            if is_disk_failure(error) or log.is_torn:
                return self.fail_log(log, error)
            if isinstance(error, BadRecordsError):
                return error
            if _has_no_descriptor(error):
                self.options.open_files.close_idle()
            self.transient_errors.add(self.directory_of(log).path, error)
            return KafkaStorageError(f"{log.directory}: {describe_error(error)}")
        return self.fail_log(log, error) if log.is_torn else error

    def fail_log(self, log: Log, error: BaseException) -> KafkaStorageError:
        """Return the error for the callers that wait for a log whose state is uncertain.

        Takes the log's directory offline, unless the error does not concern the data: no free
        descriptor, or an unusable name.
        """
        if log.is_torn or not (_has_no_descriptor(error) or is_name_error(error)):
            self.fail(self.directory_of(log), error)
        storage_error = KafkaStorageError(f"{log.directory}: {describe_error(error)}")
        storage_error.__cause__ = error
        return storage_error

    @contextmanager
    def failing(self, directory: LogDirectory) -> Iterator[None]:
        """Suppress an OSError, and take the directory offline because of it."""
        try:
            yield
        except OSError as error:
            self.fail(directory, error)

    def fail(self, directory: LogDirectory, error: BaseException) -> None:
        """Take a directory offline with all its logs (Kafka: `handleLogDirFailure`)."""
        if not directory.is_online:
            return
        directory.fail(error)
        lost = [*self.current.remove_directory(directory), *self.future.remove_directory(directory)]
        for log in lost:
            log.lease = log.lease.abort()
        # One pass over the open files: one for each log takes seconds with thousands of both.
        with suppress(OSError):
            self.options.open_files.forget_under(directory.path)
        report = self.options.on_outage or self.on_event
        report(f"{directory.path} is offline with {len(lost)} logs: {error}")
        for callback in self._lost_callbacks:
            callback(lost)

    def on_lost(self, callback: OnLost) -> None:
        """Add a callback that receives the logs of each directory that goes offline."""
        self._lost_callbacks.append(callback)

    # -- changes of logs

    def reconfigure(self, log: Log) -> None:
        """Apply the present settings to a log; a cleaner stops if the topic is not compacted."""
        was_compacted = log.config.is_compacted
        log.producers.config = self.settings.producers
        log.configure(self.settings.config_for(log.partition.topic))
        if was_compacted and not log.config.is_compacted:
            log.lease = log.lease.abort()

    def set_cleaned_to(self, log: Log, offset: int) -> Pending[None]:
        """Set the offset where the next cleaning of a log begins, and checkpoint it."""
        log.bounds.set_cleaned_to(offset)
        return self.checkpoints.write(self.directory_of(log), CLEANER_OFFSETS)

    # -- shutdown

    def close(self, *, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Shut every directory down cleanly; the manager must not be used afterwards."""
        try:
            self.deletions.close()
            self._close_logs()
            for directory in self.online:
                with self.failing(directory):
                    self.checkpoints.write_all_now(directory)
        finally:
            for directory in self.directories:
                with self.failing(directory):
                    directory.close(broker_epoch=broker_epoch)
            self.options.open_files.close()

    def _close_logs(self) -> None:
        """Close the logs on the worker, each with open files of its own."""
        logs = self.all_logs()
        for log in logs:
            log.use(OpenFileCache(self.ports.files, FILES_PER_LOG))
        tasks = [DirectoryTask(directory_of(log.directory), log.close) for log in logs]
        closed = run_per_directory(
            self.ports.worker, tasks, threads=self.settings.threads_per_directory
        )
        for log, outcome in zip(logs, closed, strict=True):
            if isinstance(outcome, Exception):
                self._close_failed(log, outcome)

    def _close_failed(self, log: Log, error: Exception) -> None:
        """Take the directory offline after a disk error; else only omit its clean-shutdown mark.

        Without the mark the next start recovers the log as after a crash.
        """
        directory = self.directory_of(log)
        if is_disk_failure(error):
            self.fail(directory, error)
        else:
            directory.is_whole = False
            self.on_event(f"{log.directory} could not be closed: {describe_error(error)}")

    def _checkpoint_failed(self, directory: LogDirectory, error: OSError) -> None:
        """Take the directory offline after a disk error; else keep the older checkpoint."""
        if is_disk_failure(error):
            self.fail(directory, error)
        else:
            reason = describe_error(error)
            self.on_event(f"{directory.path}: a checkpoint could not be written: {reason}")


def _has_no_descriptor(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in NO_DESCRIPTORS
