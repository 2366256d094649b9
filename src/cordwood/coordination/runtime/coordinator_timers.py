"""Timers of all shards of one runtime (Kafka: `CoordinatorTimerImpl`).

    at_ms     a time of the wall clock, as shards see it
    due       the same time of the monotonic clock, at the moment at which the timer was set

A timer that is set again to a later time, as a session timer is at each heartbeat, keeps its place
in the queue and moves when that place comes up. Timers that are due together run for `TURN_MS` per
turn of the loop. The scheduler has one timer at a time for all of them.
"""

import heapq
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Final

from cordwood.coordination.outcome import TimerChange, TimerKey
from cordwood.coordination.runtime.runtime_ports import RuntimePorts

if TYPE_CHECKING:
    from cordwood.core.ports import Timer

#: The queue is freed of outdated places when it has twice as many as timers, and these.
_SLACK: Final = 64


class _ShardTimer:
    """A timer: its time, and its present place in the queue."""

    __slots__ = ("at_ms", "due_ms", "group", "key", "place_ms")

    def __init__(self, group: "ShardTimers", key: TimerKey) -> None:
        self.group = group
        self.key = key
        self.at_ms = 0
        self.due_ms = 0.0
        self.place_ms = -1.0


class ShardTimers:
    """The timers of one shard; `fire` gets the key and the time of a timer that is due."""

    def __init__(self, queue: "CoordinatorTimers", fire: Callable[[TimerKey, int], object]) -> None:
        self.fire: Final = fire
        self.by_key: Final[dict[TimerKey, _ShardTimer]] = {}
        self._queue = queue

    def change(self, change: TimerChange) -> None:
        """Set or cancel a timer."""
        if change.at_ms is None:
            if self.by_key.pop(change.key, None) is not None:
                self._queue.forget(1)
            return
        timer = self.by_key.get(change.key)
        if timer is None:
            timer = self.by_key[change.key] = _ShardTimer(self, change.key)
            self._queue.forget(-1)
        timer.at_ms = change.at_ms
        self._queue.place(timer)

    def cancel_all(self) -> None:
        """Cancel all timers."""
        self._queue.forget(len(self.by_key))
        self.by_key.clear()


class CoordinatorTimers:
    """The queue of the timers of all shards."""

    def __init__(self, ports: RuntimePorts) -> None:
        self._ports = ports
        self._queue: list[tuple[float, int, _ShardTimer]] = []
        self._order = count()
        self._live = 0
        self._alarm: Timer | None = None
        self._alarm_ms = 0.0
        #: The turns of the loop in which timers have run.
        self.rings = 0

    def __len__(self) -> int:
        """Return the length of the queue, with outdated places."""
        return len(self._queue)

    def of_shard(self, fire: Callable[[TimerKey, int], object]) -> ShardTimers:
        """Return the timers of a shard, none so far."""
        return ShardTimers(self, fire)

    def forget(self, timers: int) -> None:
        """Count timers that are no longer set; new ones count negative."""
        self._live -= timers

    def place(self, timer: _ShardTimer) -> None:
        """Give a timer its place; one whose place is early enough keeps it."""
        clock = self._ports.clock
        timer.due_ms = clock.monotonic_ms() + max(0, timer.at_ms - clock.now_ms())
        if not 0 <= timer.place_ms <= timer.due_ms:
            self._push(timer)
            self._set_alarm()

    def _push(self, timer: _ShardTimer) -> None:
        timer.place_ms = timer.due_ms
        if len(self._queue) > 2 * self._live + _SLACK:
            self._queue = [each for each in self._queue if _is_current(each)]
            heapq.heapify(self._queue)
        heapq.heappush(self._queue, (timer.place_ms, next(self._order), timer))

    def _set_alarm(self) -> None:
        """Set the scheduler's timer for the first place, unless it comes as early."""
        if not self._queue:
            return
        first_ms = self._queue[0][0]
        if self._alarm is not None:
            if self._alarm_ms <= first_ms:
                return
            self._alarm.cancel()
        self._alarm_ms = first_ms
        self._alarm = self._ports.scheduler.call_at(first_ms, self._ring)

    def _ring(self) -> None:
        """Run the timers that are due, for one turn of the loop."""
        self._alarm = None
        self.rings += 1
        end_ms, now_ms = self._ports.turn_end(), self._ports.clock.monotonic_ms()
        while self._queue and self._queue[0][0] <= now_ms:
            entry = heapq.heappop(self._queue)
            timer = entry[2]
            if not _is_current(entry):
                continue
            if timer.due_ms > now_ms:
                self._push(timer)
                continue
            timer.place_ms = -1.0
            del timer.group.by_key[timer.key]
            self._live -= 1
            timer.group.fire(timer.key, timer.at_ms)
            if self._ports.is_over(end_ms):
                break
        self._set_alarm()


def _is_current(entry: tuple[float, int, _ShardTimer]) -> bool:
    """Return whether a place in the queue is that of a timer that is set."""
    place_ms, _, timer = entry
    return timer.place_ms == place_ms and timer.group.by_key.get(timer.key) is timer
