"""Virtual time that runs with real time, and can be advanced, frozen and resumed by a test.

    running   real time plus everything that was advanced
    frozen    constant; due calls wait until time is advanced, or runs again

The clock belongs to the thread of its scheduler, which wakes it at the next due call. Any thread
may read it.
"""

from cordwood.core.ports import Clock, Scheduler, Timer
from cordwood.core.types import TimestampMs
from cordwood.testing.virtual_clock import VirtualClock, VirtualTimer


class RunningClock(VirtualClock):
    """The Clock and the Scheduler port in one, on top of the real ones; it starts at the real time.

    Calls that an advance passes over run on the way, as with the virtual clock.
    """

    def __init__(self, real: Clock, alarms: Scheduler) -> None:
        super().__init__(real.now_ms())
        self._real = real
        self._alarms = alarms
        self._alarm: Timer | None = None
        #: Base time, and whether real time is added: one tuple, so that other threads read both.
        self._reading = (-real.monotonic_ms(), True)

    @property
    def is_running(self) -> bool:
        """Whether real time is added."""
        return self._reading[1]

    def monotonic_ms(self) -> float:
        reading_ms, is_running = self._reading
        return reading_ms + self._real.monotonic_ms() if is_running else reading_ms

    def freeze(self) -> None:
        """Stop time at its present value."""
        self._reading = (self.monotonic_ms(), False)
        self._set_alarm()

    def run(self) -> None:
        """Resume time from its present value."""
        self._reading = (self.monotonic_ms() - self._real.monotonic_ms(), True)
        self._set_alarm()

    def advance_to(self, end_ms: float) -> None:
        try:
            super().advance_to(end_ms)
        finally:
            self._set_alarm()

    def jump_to(self, now_ms: TimestampMs) -> None:
        """Set the wall clock, as an operator does; this makes no call due."""
        self.jump_wall(now_ms - self.now_ms())

    def _set_elapsed(self, when_ms: float) -> None:
        reading_ms, is_running = self._reading
        self._reading = (reading_ms + max(0.0, when_ms - self.monotonic_ms()), is_running)

    def _push(self, when_ms: float, timer: VirtualTimer) -> VirtualTimer:
        pushed = super()._push(when_ms, timer)
        if self.next_call_ms() == when_ms:
            self._set_alarm()
        return pushed

    def _set_alarm(self) -> None:
        """Set one real timer for the next due call."""
        if self._alarm is not None:
            self._alarm.cancel()
        next_ms = self.next_call_ms()
        if next_ms is None or not self.is_running:
            self._alarm = None
            return
        in_ms = next_ms - self.monotonic_ms()
        self._alarm = self._alarms.call_at(self._real.monotonic_ms() + in_ms, self._ring)

    def _ring(self) -> None:
        self.advance_to(self.monotonic_ms())
