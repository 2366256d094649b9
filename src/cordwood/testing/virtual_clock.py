"""Virtual time: a clock that advances only when the test advances it, and runs due timers."""

import heapq
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Final

from cordwood.core.types import TimestampMs

DEFAULT_START_MS = TimestampMs(1_700_000_000_000)


def duration_ms(*, days: float = 0, hours: float = 0, seconds: float = 0, ms: float = 0) -> float:
    """Return a duration in milliseconds; ValueError if it is negative."""
    passed = timedelta(days=days, hours=hours, seconds=seconds, milliseconds=ms)
    if passed < timedelta(0):
        raise ValueError("time cannot go backwards; only the wall clock can: jump_wall")
    return passed / timedelta(milliseconds=1)


#: The queue is freed of cancelled timers when it has twice as many entries as before, and these.
_QUEUE_SLACK: Final = 64


def _call_nothing() -> None:
    """Replace the call of a cancelled timer, which would keep its objects alive."""


class VirtualTimer:
    """One entry of the queue; a cancelled one is skipped, and removed some time."""

    __slots__ = ("call", "interval_ms", "is_cancelled")

    def __init__(self, call: Callable[[], object], interval_ms: float | None) -> None:
        self.call = call
        self.interval_ms = interval_ms
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True
        self.call = _call_nothing


class VirtualClock:
    """The Clock and the Scheduler port in one."""

    def __init__(self, start_ms: TimestampMs = DEFAULT_START_MS) -> None:
        self._start_ms = start_ms
        self._elapsed_ms = 0.0
        self._wall_offset_ms = 0
        self._queue: list[tuple[float, int, VirtualTimer]] = []
        self._room = _QUEUE_SLACK
        self._order = count()
        self._is_in_call = False

    def now_ms(self) -> TimestampMs:
        return TimestampMs(self._start_ms + self._wall_offset_ms + int(self.monotonic_ms()))

    def monotonic_ms(self) -> float:
        return self._elapsed_ms

    def call_at(self, when_ms: float, call: Callable[[], object]) -> VirtualTimer:
        return self._push(when_ms, VirtualTimer(call, None))

    def every(self, interval_ms: float, call: Callable[[], object]) -> VirtualTimer:
        if interval_ms <= 0:
            raise ValueError(f"an interval is above 0, not {interval_ms} ms")
        return self._push(self.monotonic_ms() + interval_ms, VirtualTimer(call, interval_ms))

    def advance(
        self, *, days: float = 0, hours: float = 0, seconds: float = 0, ms: float = 0
    ) -> None:
        """Advance time, and run each due call at its time.

        An error in a call is raised here, with the clock at the call's time; no other call is lost.
        A call that itself advances time delays the others: calls do not overlap.
        """
        ms = duration_ms(days=days, hours=hours, seconds=seconds, ms=ms)
        self.advance_to(self.monotonic_ms() + ms)

    def advance_to(self, end_ms: float) -> None:
        """Advance to a monotonic time, unless it is past, and run each due call at its time."""
        if self._is_in_call:
            self._set_elapsed(end_ms)
            return
        while self._queue and self._queue[0][0] <= max(end_ms, self.monotonic_ms()):
            self._run_next_call()
        self._set_elapsed(end_ms)

    def jump_wall(self, ms: int) -> None:
        """Move the wall clock, as an operator does; this makes no call due."""
        self._wall_offset_ms += ms

    def next_call_ms(self) -> float | None:
        """Return the monotonic time of the next call, None if there is none."""
        while self._queue and self._queue[0][2].is_cancelled:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def _set_elapsed(self, when_ms: float) -> None:
        """Set the elapsed time, unless it is already later."""
        self._elapsed_ms = max(self._elapsed_ms, when_ms)

    def _run_next_call(self) -> None:
        when_ms, _, timer = heapq.heappop(self._queue)
        if timer.is_cancelled:
            return
        self._set_elapsed(when_ms)
        if timer.interval_ms is not None:
            missed = (self.monotonic_ms() - when_ms) // timer.interval_ms
            self._push(when_ms + (missed + 1) * timer.interval_ms, timer)
        self._is_in_call = True
        try:
            timer.call()
        finally:
            self._is_in_call = False

    def _push(self, when_ms: float, timer: VirtualTimer) -> VirtualTimer:
        if len(self._queue) >= self._room:
            self._queue = [entry for entry in self._queue if not entry[2].is_cancelled]
            heapq.heapify(self._queue)
            self._room = 2 * len(self._queue) + _QUEUE_SLACK
        heapq.heappush(self._queue, (when_ms, next(self._order), timer))
        return timer
