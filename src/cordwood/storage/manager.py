"""All logs of all log directories: loaded, found, made, deleted, and taken offline with their disk.

    load     the directories' logs, several at a time; a directory that fails goes offline, alone
    create   in the directory with the fewest logs; its topic id is on disk before the first record
    delete   the directory gets another name at once and goes a while later
    using    whoever calls a log does so inside: an error of the disk takes its directory offline,
             a full one refuses the write and nothing else
    close    flushes and closes every log, writes the checkpoints, and marks the stop as clean

Logs have one owner: all of it, but for what the worker does, runs on one thread.
"""

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.ids import Uuid
from cordwood.core.ports import Clock, Files, Pending, Random, Scheduler, Worker
from cordwood.core.types import Offset, TopicName, TopicPartition
from cordwood.storage import names
from cordwood.storage.checkpoints import HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS
from cordwood.storage.clean_shutdown import UNKNOWN_BROKER_EPOCH
from cordwood.storage.deletions import ScheduledDeletions, remove_tree
from cordwood.storage.file_table import FileTable
from cordwood.storage.loading import LogPlace, LogTools
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.names import DirectorySuffix
from cordwood.storage.partition_metadata import (
    ensure_same_topic,
    read_partition_metadata,
    write_partition_metadata,
)
from cordwood.storage.producers import ProducerSettings

#: A full disk, or a quota: the write is refused, what is there stays usable.
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
#: As many files as one log needs while it is loaded.
LOADING_FILES: Final = 8

ConfigFor = Callable[[TopicName], LogConfig]
OnEvent = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerTools:
    """What the manager works with; `on_event` hears, in words, of what an operator should know."""

    files: Files
    clock: Clock
    scheduler: Scheduler
    worker: Worker
    random: Random
    table: FileTable
    on_event: OnEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerSettings:
    """`config_for` gives a topic's values; `delete_delay_ms` is the broker's own."""

    config_for: ConfigFor
    producers: ProducerSettings = field(default_factory=ProducerSettings)
    delete_delay_ms: int = 60_000


class LogManager:
    """The logs of this process. `open` the directories first, then `load`."""

    def __init__(
        self, directories: Sequence[LogDirectory], tools: ManagerTools, settings: ManagerSettings
    ) -> None:
        self.directories = tuple(directories)
        self.settings = settings
        self._tools = tools
        self._logs: dict[TopicPartition, Log] = {}
        self._homes: dict[TopicPartition, LogDirectory] = {}
        self._deletions = ScheduledDeletions(
            tools.files,
            tools.scheduler,
            tools.worker,
            now_ms=tools.clock.monotonic_ms,
            on_error=lambda path, error: tools.on_event(f"{path} could not be removed: {error}"),
        )

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        """Those that can be used, by partition."""
        return MappingProxyType(self._logs)

    # -- at the start

    def load(self) -> None:
        """Open every log; one that is in two directories is refused, for both may be right."""
        loading: list[tuple[LogDirectory, TopicPartition, Pending[Log]]] = []
        for directory in self._online():
            with self._failing(directory):
                for name, found in directory.partitions().items():
                    path = f"{directory.path}/{name}"
                    if found.suffix is DirectorySuffix.DELETE:
                        self._remove_later(path)
                    elif found.suffix is DirectorySuffix.NONE:
                        self._ensure_alone(found.partition, directory)
                        pending = self._submit(found.partition, directory, path)
                        loading.append((directory, found.partition, pending))
        for directory, partition, pending in loading:
            with self._failing(directory):
                self._add(partition, pending.result())
        for directory in self._online():
            directory.is_loaded = True

    def _submit(
        self, partition: TopicPartition, directory: LogDirectory, path: str
    ) -> Pending[Log]:
        """Begin to load a log, with files of its own until it is handed over."""
        self._homes[partition] = directory
        table = FileTable(self._tools.files, LOADING_FILES)
        place = self._place(partition, directory, path)
        return self._tools.worker.submit(
            partial(Log.open, place, self._log_tools(table), clock=self._tools.clock)
        )

    def _add(self, partition: TopicPartition, log: Log) -> None:
        log.use(self._tools.table)
        if log.report.is_worth_telling:
            self._tools.on_event(f"{log.directory}: {log.report}")
        self._logs[partition] = log

    # -- while it runs

    def get(self, partition: TopicPartition) -> Log | None:
        """Return a partition's log, None if there is none here; refuses one that is offline."""
        log = self._logs.get(partition)
        if log is None and partition in self._homes:
            self._homes[partition].ensure_online()
        return log

    @contextmanager
    def using(self, log: Log) -> Iterator[None]:
        """Call a log: its disk's errors come out as `KafkaStorageError`."""
        try:
            yield
        except OSError as error:
            if error.errno in FULL:
                raise KafkaStorageError(f"{log.directory}: no space: {error}") from error
            self.fail(self._homes[log.partition], error)
            raise KafkaStorageError(f"{log.directory}: {error}") from error

    def create(self, partition: TopicPartition, *, topic_id: Uuid | None) -> Log:
        """Return a partition's log, made if there is none; its topic has this id."""
        log = self.get(partition)
        if log is not None:
            found = read_partition_metadata(self._tools.files, log.directory)
            if topic_id is not None:
                ensure_same_topic(found, topic_id, directory=log.directory)
            return log
        names.ensure_topic_name(partition.topic)
        directory = self._emptiest()
        path = f"{directory.path}/{names.directory_name(partition)}"
        with self._failing(directory):
            self._homes[partition] = directory
            place = self._place(partition, directory, path, is_new=True)
            log = Log.open(place, self._log_tools(self._tools.table), clock=self._tools.clock)
            if topic_id is not None:
                write_partition_metadata(self._tools.files, path, topic_id=topic_id)
            self._logs[partition] = log
            return log
        raise KafkaStorageError(f"{partition} could not be made in {directory.path}")

    def delete(self, partition: TopicPartition) -> None:
        """Remove a partition's log: from here on there is none, a while later its files go too."""
        self._move_away(partition, names.deleted_directory_name)

    def set_aside(self, partition: TopicPartition) -> None:
        """Keep the files of a log that nobody here should have, for the operator to decide."""
        self._move_away(partition, names.stray_directory_name)

    def _move_away(
        self, partition: TopicPartition, rename: Callable[[TopicPartition, bytes], str]
    ) -> None:
        log = self.get(partition)
        if log is None:
            raise KafkaStorageError(f"there is no log of {partition} here")
        directory = self._homes[partition]
        path = f"{directory.path}/{rename(partition, self._tools.random.token(16))}"
        with self.using(log):
            log.move(path)
            self._tools.files.sync_directory(directory.path)
        del self._logs[partition], self._homes[partition]
        log.forget_files()
        if rename is names.deleted_directory_name:
            self._remove_later(path)

    def fail(self, directory: LogDirectory, error: OSError) -> None:
        """Take a directory offline with all its logs; the others go on."""
        directory.fail(error)
        lost = [each for each, home in self._homes.items() if home is directory]
        for partition in lost:
            self._logs.pop(partition, None)
        self._tools.on_event(f"{directory.path} is offline with {len(lost)} logs: {error}")

    # -- checkpoints

    def write_recovery_points(self) -> None:
        """Say of each log up to where it is on disk."""
        self._write(RECOVERY_POINTS, lambda log: log.bounds.recovery_point)

    def write_log_starts(self) -> None:
        """Say of each log where it starts, if that is not simply its first segment."""
        self._write(LOG_START_OFFSETS, _start_to_remember)

    def write_high_watermarks(self) -> None:
        """Say of each log up to where it is on all replicas."""
        self._write(HIGH_WATERMARKS, lambda log: log.bounds.high_watermark)

    def _write(self, name: str, offset_of: Callable[[Log], Offset | None]) -> None:
        for directory in self._online():
            found = {each: offset_of(log) for each, log in self._logs_in(directory)}
            offsets = {each: offset for each, offset in found.items() if offset is not None}
            with self._failing(directory):
                directory.write_checkpoint(name, offsets)

    # -- at the end

    def close(self, *, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Leave every directory as a clean stop leaves it; the manager is not used again."""
        for directory in self._online():
            with self._failing(directory):
                for _, log in self._logs_in(directory):
                    log.close()
        self.write_recovery_points()
        self.write_log_starts()
        self.write_high_watermarks()
        for directory in self.directories:
            with self._failing(directory):
                directory.close(broker_epoch=broker_epoch)
        self._tools.table.close()

    # -- inside

    def _online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.is_online]

    def _logs_in(self, directory: LogDirectory) -> list[tuple[TopicPartition, Log]]:
        return [each for each in self._logs.items() if self._homes[each[0]] is directory]

    def _emptiest(self) -> LogDirectory:
        """Return the directory with the fewest logs, the first one of ties."""
        homes = list(self._homes.values())
        online = self._online()
        if not online:
            raise KafkaStorageError("all log directories are offline")
        return min(online, key=lambda directory: sum(home is directory for home in homes))

    def _ensure_alone(self, partition: TopicPartition, directory: LogDirectory) -> None:
        if partition in self._homes:
            raise LogDirectoryError(
                f"{partition} is in {self._homes[partition].path} too",
                path=directory.path,
                remedy="move one of the two away: only you can know which is the right one",
            )

    @contextmanager
    def _failing(self, directory: LogDirectory) -> Iterator[None]:
        """Take the directory offline, and go on, when its disk refuses."""
        try:
            yield
        except OSError as error:
            self.fail(directory, error)

    def _place(
        self,
        partition: TopicPartition,
        directory: LogDirectory,
        path: str,
        *,
        is_new: bool = False,
    ) -> LogPlace:
        known = {} if is_new else directory.checkpoints
        return LogPlace(
            partition=partition,
            directory=path,
            config=self.settings.config_for(partition.topic),
            is_clean=directory.is_clean or is_new,
            recovery_point=known.get(RECOVERY_POINTS, {}).get(partition, 0),
            log_start=known.get(LOG_START_OFFSETS, {}).get(partition, 0),
            high_watermark=known.get(HIGH_WATERMARKS, {}).get(partition, 0),
            producers=self.settings.producers,
        )

    def _log_tools(self, table: FileTable) -> LogTools:
        return LogTools(table=table, random=self._tools.random, deletions=self._deletions)

    def _remove_later(self, path: str) -> None:
        """Remove a directory that is nobody's any more."""
        tools = self._tools
        when_ms = tools.clock.monotonic_ms() + self.settings.delete_delay_ms
        tools.scheduler.call_at(
            when_ms, lambda: tools.worker.submit(lambda: remove_tree(tools.files, path))
        )


def _start_to_remember(log: Log) -> Offset | None:
    """Return where a log starts, unless its first segment says so."""
    log_start = log.bounds.log_start
    return log_start if log_start > log.segments[0].base_offset else None
