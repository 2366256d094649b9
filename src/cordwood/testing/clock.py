"""Virtual time: it stands still until a test moves it, which makes the calls that fall due."""

import heapq
from collections.abc import Callable
from datetime import timedelta
from itertools import count

from cordwood.core.types import TimestampMs

DEFAULT_START_MS = TimestampMs(1_700_000_000_000)


def passed_ms(*, days: float = 0, hours: float = 0, seconds: float = 0, ms: float = 0) -> float:
    """Return how much time that is; ValueError if it is less than none."""
    passed = timedelta(days=days, hours=hours, seconds=seconds, milliseconds=ms)
    if passed < timedelta(0):
        raise ValueError("time does not go back; the wall clock alone can: jump_wall")
    return passed / timedelta(milliseconds=1)


class VirtualTimer:
    """One entry of the queue; a cancelled one stays there and is passed over."""

    __slots__ = ("call", "interval_ms", "is_cancelled")

    def __init__(self, call: Callable[[], object], interval_ms: float | None) -> None:
        self.call = call
        self.interval_ms = interval_ms
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class VirtualClock:
    """The Clock and the Scheduler port in one."""

    def __init__(self, start_ms: TimestampMs = DEFAULT_START_MS) -> None:
        self._start_ms = start_ms
        self._elapsed_ms = 0.0
        self._wall_offset_ms = 0
        self._queue: list[tuple[float, int, VirtualTimer]] = []
        self._order = count()
        self._is_calling = False

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
        """Let time pass, stopping at every call that falls due on the way to make it.

        An error in a call comes out here, with the time at which it was due; nothing is lost by it.
        A call that lets time pass itself only makes the others late: calls do not overlap.
        """
        ms = passed_ms(days=days, hours=hours, seconds=seconds, ms=ms)
        self.advance_to(self.monotonic_ms() + ms)

    def advance_to(self, end_ms: float) -> None:
        """Let time pass likewise until the monotonic clock says so, if it does not already."""
        if self._is_calling:
            self._go_on_to(end_ms)
            return
        while self._queue and self._queue[0][0] <= max(end_ms, self.monotonic_ms()):
            self._make_next_call()
        self._go_on_to(end_ms)

    def jump_wall(self, ms: int) -> None:
        """Set the wall clock forward or back, as an operator does; no call falls due by it."""
        self._wall_offset_ms += ms

    def next_call_ms(self) -> float | None:
        """Return when the next call is due, on the monotonic clock; None if there is none."""
        while self._queue and self._queue[0][2].is_cancelled:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def _go_on_to(self, when_ms: float) -> None:
        """Let it be so late, if it is not later already."""
        self._elapsed_ms = max(self._elapsed_ms, when_ms)

    def _make_next_call(self) -> None:
        when_ms, _, timer = heapq.heappop(self._queue)
        if timer.is_cancelled:
            return
        self._go_on_to(when_ms)
        if timer.interval_ms is not None:
            missed = (self.monotonic_ms() - when_ms) // timer.interval_ms
            self._push(when_ms + (missed + 1) * timer.interval_ms, timer)
        self._is_calling = True
        try:
            timer.call()
        finally:
            self._is_calling = False

    def _push(self, when_ms: float, timer: VirtualTimer) -> VirtualTimer:
        heapq.heappush(self._queue, (when_ms, next(self._order), timer))
        return timer
