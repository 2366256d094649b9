"""Creation of many logs, without blocking the owner of the other logs.

    place      on the owner's thread, a few logs a step: choose the directory of each log
    run        1. checkpoints of earlier partitions are rewritten, if there are any
               2. on several threads of the worker: directories and files; 2 fsyncs a log
               3. on the worker: 1 fsync of each log directory
               4. on the owner's thread, a few logs a step: the created logs become available
               again from 1 for logs that could not be created, in another directory

The rules are those of `log_creation`. Other work may run between two steps. If the directory of a
created log went offline meanwhile the log is offline too, since it is unknown which of its files
exist.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.files.delayed_deletions import QueuedDeletions
from cordwood.storage.files.disk_errors import is_disk_failure
from cordwood.storage.files.file_names import directory_name
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.manager.log_checkpoints import LOGS_PER_TURN
from cordwood.storage.manager.log_creation import (
    LeastLoadedDirectories,
    creation_error,
    ensure_absent,
    ensure_name,
    new_place,
    open_new,
    remove_created,
)
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import FILES_PER_LOG, LogManager

#: The worker's threads that create logs at the same time; most of their time is spent in fsyncs.
CREATION_THREADS: Final = 4

Jobs: TypeAlias = Sequence[Pending[object]]
"""Calls on the worker that must be done before the next step; none if the step is a short one."""


@dataclass(slots=True, eq=False)
class _NewLog:
    """A log to be created, and the outcome in its present directory."""

    partition: TopicPartition
    topic_id: Uuid
    directory: LogDirectory
    outcome: Log | Exception | None = None
    #: Whether another directory is tried after a failure.
    may_retry: bool = True
    #: The error of the removal of the files, if that failed too.
    removal_error: OSError | None = None
    errors: dict[str, KafkaStorageError] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{directory_name(self.partition)}"


class BulkLogCreation:
    """Many logs in creation; `errors` has the partitions whose logs could not be created."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._waiting: list[_NewLog] = []
        self.errors: dict[TopicPartition, KafkaStorageError] = {}

    def place(self, wanted: Iterable[tuple[TopicPartition, Uuid]]) -> Iterator[None]:
        """Choose the directory of each log; without an online directory it is an error.

        Requires: no other creation has these partitions.
        """
        rest = iter(wanted)
        while batch := [*islice(rest, LOGS_PER_TURN)]:
            directories = LeastLoadedDirectories(self._manager)
            for partition, topic_id in batch:
                ensure_name(partition)
                if self._manager.has_partition(partition):
                    words = "an earlier log of this name could not be deleted; restart"
                    self.errors[partition] = KafkaStorageError(f"{partition}: {words}")
                elif directories.ordered():
                    preferred = self._manager.preferred.pop(partition, None)
                    new = _NewLog(partition, topic_id, directories.place(preferred))
                    self._manager.being_created[new.directory.path] += 1
                    self._waiting.append(new)
                else:
                    self.errors[partition] = _no_directory(partition)
            yield

    def directory_ids(self) -> dict[TopicPartition, Uuid]:
        """Return the ids of the directories in which the logs are placed."""
        return {
            new.partition: new.directory.meta.directory_id
            for new in self._waiting
            if new.directory.meta is not None and new.directory.meta.directory_id is not None
        }

    def cancel(self) -> None:
        """Give up the placed logs; `run` has not begun."""
        for new in self._waiting:
            self._manager.being_created[new.directory.path] -= 1
        self._waiting.clear()

    def run(self) -> Iterator[Jobs]:
        """Create the placed logs, and make them available."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            waiting = [new for new in waiting if new.directory.is_online or self._replace(new)]
            yield from self._forget_checkpoints(waiting)
            yield from self._create(waiting)
            yield from self._sync_directories(waiting)
            waiting = yield from self._publish_all(waiting)

    # -- steps

    def _forget_checkpoints(self, waiting: Sequence[_NewLog]) -> Iterator[Jobs]:
        """Remove the checkpoints of earlier partitions; a failure is the outcome of the log."""
        checkpoints = self._manager.checkpoints
        yield from checkpoints.begin_forget({new.partition: new.directory for new in waiting})
        for count, new in enumerate(waiting, start=1):
            new.outcome, new.removal_error = None, None
            if not checkpoints.has_forgotten(new.partition, new.directory):
                new.outcome = KafkaStorageError(
                    f"{new.path}: the checkpoints of an earlier log could not be replaced"
                )
            if count % LOGS_PER_TURN == 0:
                yield ()

    def _create(self, waiting: Sequence[_NewLog]) -> Iterator[Jobs]:
        manager, queue = self._manager, deque[tuple[_NewLog, LogPlace]]()
        for count, new in enumerate(waiting, start=1):
            if new.outcome is None:
                queue.append((new, new_place(manager, new.partition, directory=new.directory)))
            if count % LOGS_PER_TURN == 0:
                yield ()
        create = partial(_create_queued, manager, queue)
        threads = min(CREATION_THREADS, len(queue))
        yield [manager.ports.worker.submit(create, lane=Lane.BACKGROUND) for _ in range(threads)]

    def _sync_directories(self, waiting: Sequence[_NewLog]) -> Iterator[Jobs]:
        """Make the names of the created logs durable."""
        ports = self._manager.ports
        created = {
            new.directory.path: new.directory for new in waiting if isinstance(new.outcome, Log)
        }
        syncs = {
            path: ports.worker.submit(
                partial(ports.files.sync_directory, path), lane=Lane.BACKGROUND
            )
            for path in created
        }
        yield [*syncs.values()]
        for path, sync in syncs.items():
            error = sync.exception()
            if error is not None:
                self._manager.fail(created[path], error)

    def _publish_all(self, waiting: Sequence[_NewLog]) -> Generator[Jobs, None, list[_NewLog]]:
        """Make the created logs available; return those to be created in another directory."""
        again = []
        for count, new in enumerate(waiting, start=1):
            if isinstance(new.outcome, Log):
                self._publish(new, new.outcome)
            else:
                self._record_failure(new)
                again += [new] if self._replace(new) else []
            if count % LOGS_PER_TURN == 0:
                yield ()
        return again

    # -- one log

    def _publish(self, new: _NewLog, log: Log) -> None:
        manager = self._manager
        manager.being_created[new.directory.path] -= 1
        if not new.directory.is_online:
            manager.current.claim(new.partition, new.directory)
            self.errors[new.partition] = KafkaStorageError(str(new.directory.outage))
            return
        log.use(manager.options.open_files, manager.deletions)
        manager.current.put(log, new.directory)
        # The settings may have changed since the log was placed.
        manager.reconfigure(log)

    def _record_failure(self, new: _NewLog) -> None:
        error, manager = new.outcome, self._manager
        assert isinstance(error, Exception), "a log that was not created has an error"
        if is_disk_failure(error):
            manager.fail(new.directory, error)
        if new.removal_error is not None:
            manager.fail(new.directory, new.removal_error)
        new.errors[new.directory.path] = creation_error(new.path, error)

    def _replace(self, new: _NewLog) -> bool:
        """Place a log in the next directory, or give up; return whether there is one."""
        manager = self._manager
        manager.being_created[new.directory.path] -= 1
        directories = LeastLoadedDirectories(manager).ordered() if new.may_retry else []
        untried = [each for each in directories if each.path not in new.errors]
        if untried:
            new.directory = untried[0]
            manager.being_created[new.directory.path] += 1
        else:
            errors = [*new.errors.values()]
            self.errors[new.partition] = errors[0] if errors else _no_directory(new.partition)
        return bool(untried)


def _create_queued(manager: LogManager, queue: deque[tuple[_NewLog, LogPlace]]) -> None:
    """Create logs on any thread until the queue, which other threads share, is empty."""
    while True:
        try:
            new, place = queue.popleft()
        except IndexError:
            return
        _create_new(manager, new, place)


def _create_new(manager: LogManager, new: _NewLog, place: LogPlace) -> None:
    """Create one log on any thread; the name of its directory is not durable yet."""
    ports = manager.ports
    table = OpenFileCache(ports.files, FILES_PER_LOG)
    try:
        ensure_absent(manager, new.partition)
        ports.files.make_directory(place.directory)
        new.outcome = open_new(
            place, ports, topic_id=new.topic_id, table=table, deletions=QueuedDeletions()
        )
    except OSError as error:
        new.outcome = error
        new.removal_error = remove_created(ports.files, place.directory, error=error)
    except Exception as error:  # noqa: BLE001 - the owner reports it for this log
        new.outcome, new.may_retry = error, False
    finally:
        table.close()


def _no_directory(partition: TopicPartition) -> KafkaStorageError:
    return KafkaStorageError(
        f"{partition}: no log directory is online; repair one of log.dirs and restart"
    )
