"""No more than so many bytes a second, as evenly as they come.

What has come too early is waited for. Who has come late may catch up, by a third of a second at the
most: a disk that was left alone for a minute is not stormed in the next one.
"""

from collections.abc import Callable
from typing import Final

from cordwood.core.ports import Clock

_CATCH_UP_MS: Final = 300
#: So soon another pace is noticed.
_LONGEST_WAIT_MS: Final = 200


class Pace:
    """Keeps one pass at its pace; `wait` takes seconds, and says if there is no more to wait for.

    Any thread may change the pace: what was waited for until then is forgotten.
    """

    __slots__ = ("_bytes_per_second", "_clock", "_due_ms", "_wait")

    def __init__(
        self, bytes_per_second: float, clock: Clock, wait: Callable[[float], bool]
    ) -> None:
        self._clock = clock
        self._wait = wait
        self.change(bytes_per_second)

    def change(self, bytes_per_second: float) -> None:
        """Go at another pace from now on."""
        self._bytes_per_second = bytes_per_second
        self._due_ms = self._clock.monotonic_ms()

    def spend(self, count: int) -> None:
        """Take note of so many bytes, and wait for as long as they have come too early."""
        earliest_ms = self._clock.monotonic_ms() - _CATCH_UP_MS
        self._due_ms = max(self._due_ms, earliest_ms) + count * 1000 / self._bytes_per_second
        while (early_ms := self._due_ms - self._clock.monotonic_ms()) > 0:
            if self._wait(min(early_ms, _LONGEST_WAIT_MS) / 1000):
                return
