"""No more than so many bytes a second, as evenly as they come.

What has come too early is waited for. Who has come late may catch up, by a third of a second at the
most: a disk that was left alone for a minute is not stormed in the next one.
"""

from collections.abc import Callable
from typing import Final

from cordwood.core.ports import Clock

_CATCH_UP_MS: Final = 300


class Pace:
    """Keeps one pass at its pace, which any thread may change; `wait` takes seconds."""

    __slots__ = ("_clock", "_due_ms", "_wait", "bytes_per_second")

    def __init__(
        self, bytes_per_second: float, clock: Clock, wait: Callable[[float], object]
    ) -> None:
        self.bytes_per_second = bytes_per_second
        self._clock = clock
        self._wait = wait
        self._due_ms = clock.monotonic_ms()

    def spend(self, count: int) -> None:
        """Take note of so many bytes, and wait for as long as they have come too early."""
        now_ms = self._clock.monotonic_ms()
        took_ms = count * 1000 / self.bytes_per_second
        self._due_ms = max(self._due_ms, now_ms - _CATCH_UP_MS) + took_ms
        if self._due_ms > now_ms:
            self._wait((self._due_ms - now_ms) / 1000)
