"""A limit on the bytes a second of one pass (Kafka: `Throttler`).

Bytes above the limit are delayed. After a pause the throttler lets at most 0.3 seconds' worth
of bytes pass undelayed, because an idle minute must not cause a burst on the disk.
"""

from collections.abc import Callable
from typing import Final

from cordwood.core.ports import Clock

_CATCH_UP_MS: Final = 300
#: The longest single wait, so that a new rate takes effect soon.
_LONGEST_WAIT_MS: Final = 200


class Throttler:
    """The throttler of one pass; `wait` takes seconds, and returns whether the wait is cancelled.

    It is thread-safe for `set_rate`, which cancels the delay so far.
    """

    __slots__ = ("_bytes_per_second", "_clock", "_due_ms", "_wait")

    def __init__(
        self, bytes_per_second: float, clock: Clock, wait: Callable[[float], bool]
    ) -> None:
        self._clock = clock
        self._wait = wait
        self.set_rate(bytes_per_second)

    def set_rate(self, bytes_per_second: float) -> None:
        """Change the rate from now on."""
        self._bytes_per_second = bytes_per_second
        self._due_ms = self._clock.monotonic_ms()

    def throttle(self, count: int) -> None:
        """Record bytes, and wait as long as they exceed the rate."""
        earliest_ms = self._clock.monotonic_ms() - _CATCH_UP_MS
        self._due_ms = max(self._due_ms, earliest_ms) + count * 1000 / self._bytes_per_second
        while (early_ms := self._due_ms - self._clock.monotonic_ms()) > 0:
            if self._wait(min(early_ms, _LONGEST_WAIT_MS) / 1000):
                return
