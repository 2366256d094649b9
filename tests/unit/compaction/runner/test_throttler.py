"""Bytes pass at the rate, and no faster."""

from collections.abc import Callable

import pytest

from cordwood.compaction.runner.throttler import Throttler
from cordwood.testing.virtual_clock import VirtualClock


class ScriptedWait:
    """A throttler whose waits advance the clock, and the calls due meanwhile."""

    def __init__(self, bytes_per_second: float) -> None:
        self.clock = VirtualClock()
        self.throttler = Throttler(bytes_per_second, self.clock, self._wait)
        self.calls = dict[int, Callable[[], object]]()
        self.is_over = False

    def _wait(self, seconds: float) -> bool:
        self.clock.advance(seconds=seconds)
        for after_ms in [each for each in self.calls if each <= self.clock.monotonic_ms()]:
            self.calls.pop(after_ms)()
        return self.is_over


def test_bytes_are_throttled_to_the_rate() -> None:
    waiting = ScriptedWait(1000)

    for _ in range(10):
        waiting.throttler.throttle(500)

    assert waiting.clock.monotonic_ms() == pytest.approx(5000)


def test_throttler_catches_up_at_most_a_third_of_a_second() -> None:
    waiting = ScriptedWait(1000)
    waiting.clock.advance(seconds=60)

    waiting.throttler.throttle(1000)

    assert waiting.clock.monotonic_ms() == pytest.approx(60_700)


def test_new_rate_applies_immediately() -> None:
    waiting = ScriptedWait(1)
    waiting.calls[1000] = lambda: waiting.throttler.set_rate(1000)

    waiting.throttler.throttle(5000)
    waiting.throttler.throttle(1000)

    assert waiting.clock.monotonic_ms() == pytest.approx(2000)


def test_throttler_stops_waiting_on_shutdown() -> None:
    waiting = ScriptedWait(1)
    waiting.is_over = True

    waiting.throttler.throttle(5000)

    assert waiting.clock.monotonic_ms() <= 200
