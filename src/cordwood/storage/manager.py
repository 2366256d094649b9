"""All logs of all log directories: loaded, found, made, deleted, and taken offline with their disk.

    load      the directories' logs, a few at a time; a directory that fails goes offline, alone
    create    in the directory with the fewest logs; its topic id is on disk before the first record
    delete    the directory gets another name at once and goes a while later
    promote   a copy that was made in another directory takes the place of the log
    using     whoever calls a log does so inside: an error of the disk takes its directory offline,
              a full one refuses the call and nothing else
    close     flushes and closes every log, writes the checkpoints, and marks the stop as clean

Logs have one owner: all of it, but for what the worker does, runs on one thread.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Final

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ids import Uuid
from cordwood.core.ports import Pending
from cordwood.core.types import TopicName, TopicPartition
from cordwood.storage import making, moving
from cordwood.storage.atomic import directory_of
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.clean_shutdown import UNKNOWN_BROKER_EPOCH
from cordwood.storage.file_table import FileTable
from cordwood.storage.lanes import Task, outcomes
from cordwood.storage.lease import Stage
from cordwood.storage.log import Log
from cordwood.storage.log_directory import CHECKPOINTS, LogDirectory
from cordwood.storage.new_logs import NewLogs
from cordwood.storage.starting import FILES_OF_ONE, load_all
from cordwood.storage.stock import ManagerSettings, ManagerTools, OnLost, Stock
from cordwood.storage.taking import Taking

_RETENTION: Final = "retention"


class LogManager:
    """The logs of this process. The directories have been opened; `load` comes first."""

    def __init__(
        self, directories: Sequence[LogDirectory], tools: ManagerTools, settings: ManagerSettings
    ) -> None:
        self._stock = Stock(directories, tools, settings)

    # -- what there is

    @property
    def directories(self) -> tuple[LogDirectory, ...]:
        """The log directories, offline ones included."""
        return self._stock.directories

    @property
    def tools(self) -> ManagerTools:
        return self._stock.tools

    @property
    def is_serving(self) -> bool:
        """Whether a directory is left to work with."""
        return bool(self._stock.online)

    @property
    def is_whole(self) -> bool:
        """Whether no directory has been lost, so that a log that is not known is nowhere."""
        return len(self._stock.online) == len(self._stock.directories)

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        """Those that can be used, by partition."""
        return MappingProxyType(self._stock.current.logs)

    @property
    def futures(self) -> Mapping[TopicPartition, Log]:
        """The copies that are on their way from another directory, by partition."""
        return MappingProxyType(self._stock.futures.logs)

    def all_logs(self) -> list[Log]:
        """Return the logs and the copies."""
        return self._stock.all_logs()

    def logs_of(self, topic: TopicName) -> list[Log]:
        """Return the logs and the copies of a topic."""
        shelves = self._stock.current, self._stock.futures
        return [log for shelf in shelves for log in shelf.logs_of(topic).values()]

    def has(self, log: Log) -> bool:
        """Whether a log is one of these, and can be used."""
        return log in self._stock

    def knows(self, partition: TopicPartition) -> bool:
        """Whether a partition has a log here, be it one that is offline."""
        return partition in self._stock.current.homes

    def get(self, partition: TopicPartition) -> Log | None:
        """Return a partition's log, None if there is none here; refuses one that is offline."""
        return self._stock.current.find(partition)

    def directory_of(self, log: Log) -> LogDirectory:
        """Return the log directory that a log is in."""
        return self._stock.home_of(log.directory)

    def topic_id(self, partition: TopicPartition) -> Uuid | None:
        """Return the id that a log's directory says its topic has, None if it says nothing."""
        return making.topic_id_of(self._stock, self._stock.current.existing(partition))

    # -- logs come and go

    def load(self) -> None:
        """Open every log; LogDirectoryError, before any is opened, if one is in two places."""
        load_all(self._stock)

    def create(
        self, partition: TopicPartition, *, topic_id: Uuid | None, is_new: bool = False
    ) -> Log:
        """Return a partition's log, made if there is none; its topic has this id.

        While a directory is offline none is made, for it may be there, unless the caller knows that
        the partition `is_new`.
        """
        return making.create(self._stock, partition, topic_id=topic_id, is_new=is_new)

    def new_logs(self) -> NewLogs:
        """Return who makes logs of new partitions, on the worker."""
        return NewLogs(self._stock)

    def create_future(self, partition: TopicPartition, directory: LogDirectory) -> Log:
        """Return an empty copy of a log in another directory, to be filled and promoted."""
        return making.create_future(self._stock, partition, directory=directory)

    def promote(self, partition: TopicPartition) -> Log:
        """Let a copy take the place of the log, which is deleted; return the copy."""
        return moving.promote(self._stock, partition)

    def delete(self, partition: TopicPartition) -> None:
        """Remove a partition's log: from here on there is none, a while later its files go too."""
        moving.delete(self._stock, partition, shelf=self._stock.current)

    def delete_future(self, partition: TopicPartition) -> None:
        """Remove a copy."""
        moving.delete(self._stock, partition, shelf=self._stock.futures)

    def set_aside(self, partition: TopicPartition) -> None:
        """Keep the files of a log that nobody here should have, for the operator to decide."""
        moving.set_aside(self._stock, partition)

    # -- logs change

    def using(self, log: Log) -> AbstractContextManager[None]:
        """Call a log: its disk's errors come out as `KafkaStorageError`."""
        return self._stock.using(log)

    def refuse(self, log: Log, error: BaseException) -> KafkaStorageError:
        """Return what those who wait for a log hear when nothing of it is certain any more."""
        return self._stock.refuse(log, error)

    def fail(self, directory: LogDirectory, error: BaseException) -> None:
        """Take a directory offline with all its logs; the others go on."""
        self._stock.fail(directory, error)

    def on_lost(self, call: OnLost) -> None:
        """Make the call whenever a directory goes offline, with the logs that went with it."""
        self._stock.on_lost.append(call)

    def adopt(self, settings: ManagerSettings) -> None:
        """Let logs to come live by other settings, and each that there is once it is renewed."""
        self._stock.settings = settings

    def renew(self, log: Log) -> None:
        """Let a log live by what the settings say now; a cleaner that may not clean stops."""
        settings, was_compacted = self._stock.settings, log.config.is_compacted
        log.producers.settings = settings.producers
        log.configure(settings.config_for(log.partition.topic))
        if was_compacted and not log.config.is_compacted:
            log.lease = log.lease.abort()

    def retain(self, log: Log) -> None:
        """Remove what retention lets go of a log, unless somebody is at work on it."""
        if not log.lease.is_free:
            return
        log.lease = log.lease.take(Stage.RETENTION, _RETENTION)
        try:
            with self.using(log):
                log.delete_old_segments()
        finally:
            log.lease = log.lease.release(_RETENTION)

    def truncate(self, offsets: Mapping[TopicPartition, int]) -> list[Pending[None]]:
        """Drop the records of logs from these offsets on; whoever works on them has to stop.

        Nothing may be appended before all that is returned is done: until then a crash may believe
        new records to be on disk that are where old ones were.
        """
        sunk: dict[tuple[str, str], LogDirectory] = {}
        for partition, offset in offsets.items():
            log = self._stock.current.existing(partition)
            bounds, directory = log.bounds, self.directory_of(log)
            recovery_point, cleaned_to = bounds.recovery_point, bounds.cleaned_to
            log.lease = log.lease.abort()
            with self.using(log):
                log.truncate_to(offset)
            self._stock.take_again(log)
            if bounds.recovery_point != recovery_point:
                sunk[directory.path, RECOVERY_POINTS] = directory
            if bounds.cleaned_to != cleaned_to:
                sunk[directory.path, CLEANER_OFFSETS] = directory
        return [self._write(directory, name) for (_, name), directory in sunk.items()]

    # -- checkpoints

    def write_recovery_points(self) -> list[Pending[None]]:
        """Say of each log up to where it is on disk."""
        return self._write_all(RECOVERY_POINTS)

    def write_log_starts(self) -> list[Pending[None]]:
        """Say of each log where it starts, if that is not simply its first segment."""
        return self._write_all(LOG_START_OFFSETS)

    def write_high_watermarks(self) -> list[Pending[None]]:
        """Say of each log up to where it is on all replicas."""
        return self._write_all(HIGH_WATERMARKS)

    def begin_taking(self, name: str) -> Taking:
        """Begin to take what the checkpoints of one name say: of each log, then `write_taken`."""
        return self._stock.begin_taking(name)

    def write_taken(self, taking: Taking) -> None:
        """Write what has been taken."""
        for directory in self._stock.online:
            offsets = taking.of(directory.path)
            if offsets is not None:
                self._stock.checkpointer.write(directory, taking.name, offsets=offsets)

    def cleaned(self, log: Log, offset: int) -> Pending[None]:
        """Say of a log that the cleaner has come to `offset`, or has to begin there again."""
        log.bounds.cleaned(offset)
        return self._write(self.directory_of(log), CLEANER_OFFSETS)

    def _write_all(self, name: str) -> list[Pending[None]]:
        return [self._write(each, name) for each in self._stock.online if each.is_loaded]

    def _write(self, directory: LogDirectory, name: str) -> Pending[None]:
        offsets = self._stock.checkpoint(directory, name)
        return self._stock.checkpointer.write(directory, name, offsets=offsets)

    # -- at the end

    def close(self, *, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Leave every directory as a clean stop leaves it; the manager is not used again."""
        stock = self._stock
        try:
            stock.deletions.close()
            self._close_logs()
            for directory in stock.online:
                with stock.failing(directory):
                    self._write_last(directory)
        finally:
            for directory in stock.directories:
                with stock.failing(directory):
                    directory.close(broker_epoch=broker_epoch)
            stock.tools.table.close()

    def _close_logs(self) -> None:
        """Close the logs on the worker, each with files of its own."""
        stock, logs = self._stock, self.all_logs()
        for log in logs:
            log.use(FileTable(stock.tools.files, FILES_OF_ONE))
        tasks = [Task(directory_of(log.directory), log.close) for log in logs]
        closed = outcomes(self.tools.worker, tasks, lanes=stock.settings.threads_per_directory)
        for log, outcome in zip(logs, closed, strict=True):
            if isinstance(outcome, Exception):
                stock.not_closed(log, outcome)

    def _write_last(self, directory: LogDirectory) -> None:
        """Write the checkpoints of a directory, after all that has been asked for before."""
        if directory.is_loaded:
            for name in CHECKPOINTS:
                offsets = self._stock.checkpoint(directory, name)
                self._stock.checkpointer.write_now(directory, name, offsets=offsets)
