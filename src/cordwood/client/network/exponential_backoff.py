"""Exponential backoff with jitter (Java: `ExponentialBackoff`).

Each pause is twice as long as the previous one, up to a limit. Jitter of 20 % in both directions
keeps clients that failed together from retrying together.
"""

from typing import Final

from cordwood.core.ports import Random

_JITTER: Final = 0.2


class ExponentialBackoff:
    """Pauses between the attempts of one operation."""

    __slots__ = ("_first_ms", "_longest_ms", "_random", "failures")

    def __init__(self, first_ms: float, longest_ms: float, *, random: Random) -> None:
        self._first_ms = first_ms
        self._longest_ms = longest_ms
        self._random = random
        self.failures = 0

    def next_ms(self) -> float:
        """Return the pause after one more failure."""
        wanted = self._first_ms * (1 << min(self.failures, 32))
        self.failures += 1
        factor = 1 - _JITTER + 2 * _JITTER * self._random.fraction()
        return min(wanted * factor, self._longest_ms)

    def reset(self) -> None:
        """Start again with the shortest pause."""
        self.failures = 0
