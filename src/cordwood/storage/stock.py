"""What all work on logs shares: the directories, the logs in them, and what befalls them.

    using     whoever calls a log does so inside; what its disk says comes out as KafkaStorageError
    refuse    an error after which nothing is certain: the directory goes offline
    fail      a directory is taken out of use with all its logs; the others go on

Too little space, too few descriptors, or a name that cannot be had, is no reason to take a
directory offline: the call is refused, and what is there stays usable. It is one when the log is
torn by it, and when a sync ends so: then what was written may be lost.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakSet

from cordwood.core.errors import BadRecordsError, DamagedFileError, KafkaStorageError
from cordwood.core.ports import Clock, Files, Random, Scheduler, Worker
from cordwood.core.types import Offset, TopicName, TopicPartition
from cordwood.records.stride import Striders, no_strider
from cordwood.storage.atomic import directory_of
from cordwood.storage.checkpointer import CallSoon, Checkpointer
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.deletions import ScheduledDeletions
from cordwood.storage.disk_errors import NO_DESCRIPTORS, described, is_of_a_name, is_of_disk
from cordwood.storage.file_table import FileTable
from cordwood.storage.index import UnfitEntryError
from cordwood.storage.loading import LogPlace
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.log_directory import LogDirectory, Offsets
from cordwood.storage.producers import ProducerSettings
from cordwood.storage.shelf import Shelf
from cordwood.storage.taking import CHECKPOINTED, Taking

#: What a log says of its disk and of its files.
_FAULTS: Final = (OSError, DamagedFileError, BadRecordsError, UnfitEntryError)

ConfigFor = Callable[[TopicName], LogConfig]
OnEvent = Callable[[str], object]
OnLost = Callable[[Sequence[Log]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerTools:
    """What the manager works with.

    `call_soon` makes a call on the thread that owns the logs, whichever thread asks for it, and
    `on_event` hears, in words and on any thread, of what an operator should know. `striders` are
    asked on the worker, by logs that were not closed.
    """

    files: Files
    clock: Clock
    scheduler: Scheduler
    worker: Worker
    random: Random
    table: FileTable
    call_soon: CallSoon
    on_event: OnEvent
    striders: Striders = no_strider


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerSettings:
    """`config_for` gives a topic's values; the others are the broker's own.

    `threads_per_directory` open and close the logs of a directory.
    """

    config_for: ConfigFor
    producers: ProducerSettings = field(default_factory=ProducerSettings)
    delete_delay_ms: int = 60_000
    threads_per_directory: int = 2


class Stock:
    """The directories of a process and their logs: those in use, and copies on their way."""

    def __init__(
        self, directories: Sequence[LogDirectory], tools: ManagerTools, settings: ManagerSettings
    ) -> None:
        self.directories = tuple(directories)
        self.tools = tools
        self.settings = settings
        self.current = Shelf()
        self.futures = Shelf()
        self.on_lost: list[OnLost] = []
        self._by_path = {directory.path: directory for directory in directories}
        self._takings = WeakSet[Taking]()
        self.deletions = ScheduledDeletions(
            tools.files,
            tools.scheduler,
            tools.worker,
            now_ms=tools.clock.monotonic_ms,
            on_error=lambda path, error: tools.on_event(f"{path} could not be removed: {error}"),
        )
        self.checkpointer = Checkpointer(
            tools.worker, call_soon=tools.call_soon, on_error=self.not_written
        )

    # -- what there is

    @property
    def online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.is_online]

    def __contains__(self, log: Log) -> bool:
        return log in self.current or log in self.futures

    def all_logs(self) -> list[Log]:
        """Return the logs and the copies."""
        return [*self.current.logs.values(), *self.futures.logs.values()]

    def count_in(self, directory: LogDirectory) -> int:
        """Return how many logs and copies a directory has."""
        return self.current.count_in(directory) + self.futures.count_in(directory)

    def home_of(self, path: str) -> LogDirectory:
        """Return the log directory that a partition's directory is in."""
        return self._by_path[directory_of(path)]

    def place(
        self,
        partition: TopicPartition,
        directory: LogDirectory,
        *,
        name: str,
        is_new: bool = False,
    ) -> LogPlace:
        """Return what there is to know for opening a log."""
        known = {} if is_new else directory.checkpoints
        return LogPlace(
            partition=partition,
            directory=f"{directory.path}/{name}",
            config=self.settings.config_for(partition.topic),
            is_clean=directory.is_clean or is_new,
            recovery_point=known.get(RECOVERY_POINTS, {}).get(partition, 0),
            log_start=known.get(LOG_START_OFFSETS, {}).get(partition, 0),
            high_watermark=known.get(HIGH_WATERMARKS, {}).get(partition, 0),
            cleaned_to=known.get(CLEANER_OFFSETS, {}).get(partition),
            producers=self.settings.producers,
        )

    # -- what goes wrong

    @contextmanager
    def using(self, log: Log) -> Iterator[None]:
        """Call a log; refuses one that is offline."""
        self.home_of(log.directory).ensure_online()
        try:
            yield
        except _FAULTS as error:
            if is_of_disk(error) or log.is_torn:
                raise self.refuse(log, error) from error
            if isinstance(error, BadRecordsError):
                raise
            raise KafkaStorageError(f"{log.directory}: {described(error)}") from error

    def refuse(self, log: Log, error: BaseException) -> KafkaStorageError:
        """Return what those hear who need a log of which nothing is certain after an error."""
        has_no_descriptor = isinstance(error, OSError) and error.errno in NO_DESCRIPTORS
        if log.is_torn or not (has_no_descriptor or is_of_a_name(error)):
            self.fail(self.home_of(log.directory), error)
        refusal = KafkaStorageError(f"{log.directory}: {described(error)}")
        refusal.__cause__ = error
        return refusal

    @contextmanager
    def failing(self, directory: LogDirectory) -> Iterator[None]:
        """Take the directory offline, and go on, when its disk refuses."""
        try:
            yield
        except OSError as error:
            self.fail(directory, error)

    def fail(self, directory: LogDirectory, error: BaseException) -> None:
        """Take a directory offline with all its logs; once is enough."""
        if not directory.is_online:
            return
        directory.fail(error)
        lost = [*self.current.lose(directory), *self.futures.lose(directory)]
        for log in lost:
            log.lease = log.lease.abort()
            with suppress(OSError):
                log.forget_files()
        self.tools.on_event(f"{directory.path} is offline with {len(lost)} logs: {error}")
        for call in self.on_lost:
            call(lost)

    def not_closed(self, log: Log, error: BaseException) -> None:
        """Leave a log as after a crash, or its directory if it is the disk's error."""
        directory = self.home_of(log.directory)
        if is_of_disk(error):
            self.fail(directory, error)
        else:
            directory.is_whole = False
            self.tools.on_event(f"{log.directory} could not be closed: {described(error)}")

    def not_written(self, directory: LogDirectory, error: OSError) -> None:
        """Go on with older checkpoints when new ones cannot be written; else fail."""
        if is_of_disk(error):
            self.fail(directory, error)
        else:
            words = described(error)
            self.tools.on_event(f"{directory.path}: a checkpoint could not be written: {words}")

    # -- checkpoints

    def checkpoint(self, directory: LogDirectory, name: str) -> Offsets:
        """Return what one of the checkpoint files should say now.

        Of a partition a directory has the log or a copy, never both. What was known of logs that
        could not be loaded stays as it was.
        """
        offset_of, offsets = CHECKPOINTED[name], self._still_known(directory, name)
        for shelf in (self.current, self.futures):
            for partition, log in shelf.logs_in(directory).items():
                offset = offset_of(log)
                if offset is not None:
                    offsets[partition] = offset
        return offsets

    def begin_taking(self, name: str) -> Taking:
        """Begin to take what the checkpoint files of one name should say, log after log."""
        loaded = [each for each in self.online if each.is_loaded]
        taking = Taking(name, {each.path: self._still_known(each, name) for each in loaded})
        self._takings.add(taking)
        return taking

    def take_again(self, log: Log) -> None:
        """Let no taking under way keep what was true of a log before it was cut."""
        for taking in self._takings:
            taking.take(log)

    def _still_known(self, directory: LogDirectory, name: str) -> dict[TopicPartition, Offset]:
        """Return what was known of logs that could not be loaded."""
        known = directory.checkpoints.get(name, {})
        refused = (*self.current.refused_in(directory), *self.futures.refused_in(directory))
        return {each: known[each] for each in refused if each in known}

    def forget_checkpoints(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Let no checkpoint speak of an earlier partition of this name, not even after a crash."""
        for taking in self._takings:
            taking.forget(partition, directory.path)
        for name in CHECKPOINTED:
            if self.checkpointer.mentions(directory, name, partition=partition):
                offsets = self.checkpoint(directory, name)
                self.checkpointer.write_now(directory, name, offsets=offsets)
