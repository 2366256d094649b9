"""Clock of a broker under test, controlled from the test's thread."""

import asyncio
from datetime import timedelta
from typing import Final, Unpack

from cordwood.client.loop_thread import LoopThread
from cordwood.core.types import TimestampMs
from cordwood.testing.running_clock import RunningClock
from cordwood.testing.virtual_clock import Duration, duration_ms, time_text

#: Loop turns that complete the work of the last calls; with inline workers no call blocks.
_LAST_TURNS: Final = 10


class KafkaClock:
    """Time of the broker's logs. It runs; the network's time is real and cannot be moved."""

    def __init__(self, clock: RunningClock, thread: LoopThread) -> None:
        self._clock = clock
        self._thread = thread

    def __repr__(self) -> str:
        state = "running" if self._clock.is_running else "frozen"
        return f"<KafkaClock at {time_text(self.now_ms())}, {state}>"

    def now_ms(self) -> TimestampMs:
        """Return the broker's time in milliseconds since 1970."""
        return self._clock.now_ms()

    def advance(self, by: timedelta | None = None, /, **units: Unpack[Duration]) -> None:
        """Advance time at once; on return, all due work is done, in order.

        Args:
            by: A timedelta, in place of units or in addition to them.
            units: Numbers of days, hours, minutes, seconds and ms.

        >>> kafka.clock.advance(hours=1, minutes=30)
        """
        __tracebackhide__ = True
        self._thread.run(self._advance(duration_ms(by, **units)))

    def freeze(self) -> None:
        """Stop time until it is advanced, or runs again."""
        self._thread.call(self._clock.freeze)

    def run(self) -> None:
        """Resume time."""
        self._thread.call(self._clock.run)

    async def _advance(self, ms: float) -> None:
        """Advance from one due call to the next, so that the work of one ends before the next."""
        clock = self._clock
        end_ms = clock.monotonic_ms() + ms
        while (due_ms := clock.next_call_ms()) is not None and due_ms <= end_ms:
            clock.advance_to(due_ms)
            await asyncio.sleep(0)
        clock.advance_to(end_ms)
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)
