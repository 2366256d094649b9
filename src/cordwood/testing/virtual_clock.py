"""Virtual time: a clock that advances only when the test advances it, and runs due timers."""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final, TypedDict, Unpack

from cordwood.core.types import TimestampMs

DEFAULT_START_MS = TimestampMs(1_700_000_000_000)


class Duration(TypedDict, total=False):
    """Units of an advance; they add up."""

    days: float
    hours: float
    minutes: float
    seconds: float
    ms: float


def duration_ms(by: timedelta | None = None, /, **units: float) -> float:
    """Return a duration in milliseconds, from a timedelta or from numbers of units.

    ValueError if it is negative; TypeError for a number without a unit.
    """
    __tracebackhide__ = True
    unknown = sorted(units.keys() - Duration.__annotations__)
    if unknown:
        known = ", ".join(Duration.__annotations__)
        raise TypeError(f"{unknown[0]} is not a unit of time; choose from {known}")
    if not isinstance(by, timedelta | None):
        raise TypeError(f"{by!r} has no unit; write advance(seconds={by!r}), or give a timedelta")
    ms = units.pop("ms", 0)
    passed = timedelta(milliseconds=ms, **units) + (by or timedelta(0))
    if passed < timedelta(0):
        raise ValueError("time cannot go backwards; only the wall clock can: jump_wall")
    return passed / timedelta(milliseconds=1)


def time_text(now_ms: TimestampMs) -> str:
    """Return a time in milliseconds since 1970 as a text of ISO 8601."""
    since = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=now_ms)
    return since.isoformat(timespec="milliseconds").replace("+00:00", "Z")


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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {time_text(self.now_ms())}>"

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

    def advance(self, by: timedelta | None = None, /, **units: Unpack[Duration]) -> None:
        """Advance time by a timedelta or by units, and run each due call at its time.

        An error in a call is raised here, with the clock at the call's time; no other call is lost.
        A call that itself advances time delays the others: calls do not overlap.
        """
        __tracebackhide__ = True
        self.advance_to(self.monotonic_ms() + duration_ms(by, **units))

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
