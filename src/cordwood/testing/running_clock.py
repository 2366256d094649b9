"""Virtual time that runs: real time carries it along, and a test lets it jump, stop and run again.

    running   as late as real time, and by as much later as it has jumped
    frozen    at one moment; what would fall due waits until time is let pass, or run again

It belongs to the thread of its scheduler, which wakes it when the next call is due; any thread may
ask what time it is.
"""

from cordwood.core.ports import Clock, Scheduler, Timer
from cordwood.core.types import TimestampMs
from cordwood.testing.clock import VirtualClock, VirtualTimer


class RunningClock(VirtualClock):
    """The Clock and the Scheduler port in one, over those of real time. It begins at its present.

    What it jumps over is called on the way, as by the virtual clock.
    """

    def __init__(self, real: Clock, alarms: Scheduler) -> None:
        super().__init__(real.now_ms())
        self._real = real
        self._alarms = alarms
        self._alarm: Timer | None = None
        #: Time is this, and while it runs what real time says on top: one value, read in one go.
        self._reading = (-real.monotonic_ms(), True)

    @property
    def is_running(self) -> bool:
        """Whether real time carries it along."""
        return self._reading[1]

    def monotonic_ms(self) -> float:
        reading_ms, is_running = self._reading
        return reading_ms + self._real.monotonic_ms() if is_running else reading_ms

    def freeze(self) -> None:
        """Let time stand still where it is."""
        self._reading = (self.monotonic_ms(), False)
        self._set_alarm()

    def run(self) -> None:
        """Let time go on from where it is."""
        self._reading = (self.monotonic_ms() - self._real.monotonic_ms(), True)
        self._set_alarm()

    def advance_to(self, end_ms: float) -> None:
        try:
            super().advance_to(end_ms)
        finally:
            self._set_alarm()

    def jump_to(self, now_ms: TimestampMs) -> None:
        """Set the wall clock, as an operator does; no call falls due by it."""
        self.jump_wall(now_ms - self.now_ms())

    def _go_on_to(self, when_ms: float) -> None:
        reading_ms, is_running = self._reading
        self._reading = (reading_ms + max(0.0, when_ms - self.monotonic_ms()), is_running)

    def _push(self, when_ms: float, timer: VirtualTimer) -> VirtualTimer:
        pushed = super()._push(when_ms, timer)
        if self.next_call_ms() == when_ms:
            self._set_alarm()
        return pushed

    def _set_alarm(self) -> None:
        """Be woken when the next call is due, and at no other time."""
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
