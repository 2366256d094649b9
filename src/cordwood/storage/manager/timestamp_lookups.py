"""Lookups of offsets by timestamp on the worker (Kafka: `ReplicaManager.fetchOffset`).

A lookup decodes records in plain Python, unless a batch is large and the kernels are loaded. Few
lookups therefore run at a time; the others wait in their order, so that the loop gets its turns. A
lookup begins again if the log has changed below it.
"""

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.records.record_lookup import RecordFinders, plain_record_finder
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log.timestamp_lookup import TimestampLookup
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.segment.segment_view import TimestampAndOffset

LOOKUPS_AT_A_TIME: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class _QueuedLookup:
    """The question of one reader, and the future for its result."""

    log: Log
    timestamp: int
    isolation: FetchIsolation
    done: Future[TimestampAndOffset | None] = field(default_factory=Future)


class TimestampLookups:
    """Runs the lookups in a manager's logs; `finders` are called on the worker."""

    def __init__(
        self, manager: LogManager, *, finders: RecordFinders = plain_record_finder
    ) -> None:
        self._manager = manager
        self._finders = finders
        self._queue = deque[_QueuedLookup]()
        self._running = 0

    def find(
        self, log: Log, timestamp: int, *, isolation: FetchIsolation
    ) -> Pending[TimestampAndOffset | None]:
        """Find the first record at or after a timestamp; the result is None without one.

        Its error is KafkaStorageError if the log is offline or was deleted.
        """
        queued = _QueuedLookup(log, timestamp, isolation)
        self._queue.append(queued)
        self._start_next()
        return queued.done

    def _start_next(self) -> None:
        while self._queue and self._running < LOOKUPS_AT_A_TIME:
            queued = self._queue.popleft()
            try:
                self._start(queued)
            except Exception as error:  # noqa: BLE001 - the future carries it
                queued.done.set_exception(error)

    def _start(self, queued: _QueuedLookup) -> None:
        manager, log = self._manager, queued.log
        if not manager.has(log):
            raise KafkaStorageError(f"{log.partition}: the log is offline or deleted")
        with manager.using(log):
            lookup = log.begin_lookup(queued.timestamp)
        ports, call_soon = manager.ports, manager.options.call_soon
        pending = ports.worker.submit(
            partial(lookup.run, ports.files, self._finders), lane=Lane.READ
        )
        self._running += 1
        pending.add_done_callback(
            lambda ended: call_soon(partial(self._ended, queued, lookup, ended))
        )

    def _ended(
        self,
        queued: _QueuedLookup,
        lookup: TimestampLookup,
        pending: Pending[TimestampAndOffset | None],
    ) -> None:
        """Complete a lookup, or put it first in the queue if the log has changed."""
        self._running -= 1
        if not (lookup.is_current and self._manager.has(queued.log)):
            self._queue.appendleft(queued)
        else:
            self._complete(queued, lookup, pending)
        self._start_next()

    def _complete(
        self,
        queued: _QueuedLookup,
        lookup: TimestampLookup,
        pending: Pending[TimestampAndOffset | None],
    ) -> None:
        try:
            with self._manager.using(queued.log):
                found = lookup.visible(pending.result(), queued.isolation)
        except Exception as error:  # noqa: BLE001 - as above
            queued.done.set_exception(error)
        else:
            queued.done.set_result(found)
