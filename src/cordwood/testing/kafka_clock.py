"""Clock of a broker under test, controlled from the test's thread."""

import asyncio
from typing import Final

from cordwood.client.loop_thread import LoopThread
from cordwood.core.types import TimestampMs
from cordwood.testing.running_clock import RunningClock
from cordwood.testing.virtual_clock import duration_ms

#: Loop turns that complete the work of the last calls; with inline workers no call blocks.
_LAST_TURNS: Final = 10


class KafkaClock:
    """Time of the broker's logs. It runs; the network's time is real and cannot be moved."""

    def __init__(self, clock: RunningClock, thread: LoopThread) -> None:
        self._clock = clock
        self._thread = thread

    def now_ms(self) -> TimestampMs:
        """Return the broker's time in milliseconds since 1970."""
        return self._clock.now_ms()

    def advance(
        self, *, days: float = 0, hours: float = 0, seconds: float = 0, ms: float = 0
    ) -> None:
        """Advance time at once; on return, all due work is done, in order."""
        self._thread.run(self._advance(duration_ms(days=days, hours=hours, seconds=seconds, ms=ms)))

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
