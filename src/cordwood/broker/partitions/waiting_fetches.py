"""Fetches that wait at one partition, by the bound of their readers (Kafka: `DelayedFetch` keys).

A fetch waits for a place in the files of the log, so that bytes are counted without a read. The
place of the log end is known. That of a lower bound is looked up once, however many fetches wait.
"""

from collections.abc import Callable

from cordwood.broker.partitions.fetch_wakes import FetchWakes
from cordwood.broker.partitions.offset_waiters import OffsetWaiter, OffsetWaiters
from cordwood.core.errors import KafkaError
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import FetchIsolation, LogPosition, readable_end
from cordwood.storage.manager.log_manager import LogManager


class WaitingFetches:
    """The waiting fetches of one partition; `log` is None while it has no usable log."""

    __slots__ = ("_log", "_manager", "_positions", "_waiters", "_wakes")

    def __init__(self, manager: LogManager, wakes: FetchWakes) -> None:
        self._manager = manager
        self._wakes = wakes
        self._log: Log | None = None
        self._waiters: dict[FetchIsolation, OffsetWaiters[LogPosition]] = {}
        #: The places of bounds below the log end, with the bounds.
        self._positions: dict[FetchIsolation, tuple[int, LogPosition]] = {}

    def use(self, log: Log | None) -> None:
        """Wait at another log from now on."""
        self._log = log
        self._positions.clear()

    def position(self, isolation: FetchIsolation) -> LogPosition | None:
        """Return the place in the log up to which a reader may read; None if it is unknown."""
        log = self._log
        if log is None:
            return None
        bounds = log.bounds
        bound = readable_end(bounds, isolation)
        if bound >= bounds.log_end:
            return log.readable_position(isolation)  # known in memory, so no disk can fail
        known = self._positions.get(isolation)
        if known is not None and known[0] == bound:
            return known[1]
        try:
            with self._manager.using(log):
                position = log.readable_position(isolation)
        except KafkaError:
            return None
        self._positions[isolation] = bound, position
        return position

    def add(
        self, position: LogPosition, call: Callable[[], object], *, isolation: FetchIsolation
    ) -> OffsetWaiter:
        """Call once when a reader may read up to `position`, which is beyond the present one."""
        waiters = self._waiters.get(isolation)
        if waiters is None:
            waiters = self._waiters[isolation] = OffsetWaiters()
        return waiters.add(position, call)

    def wake(self) -> None:
        """Wake the fetches whose positions are reached."""
        for isolation, waiters in self._waiters.items():
            if waiters:
                self._wake_readers(isolation, waiters)

    def restart(self) -> None:
        """Wake all fetches of a truncated log, whose bounds may be at other places now."""
        self._positions.clear()
        self.wake_all()

    def wake_all(self) -> None:
        """Wake all fetches."""
        for waiters in self._waiters.values():
            self._wakes.add(waiters.take_all())

    def _wake_readers(self, isolation: FetchIsolation, waiters: OffsetWaiters[LogPosition]) -> None:
        """Wake readers by their positions; all of them if the bound's position is unknown."""
        position = self.position(isolation)
        due = waiters.take_all() if position is None else waiters.take(position)
        if due:
            self._wakes.add(due)
