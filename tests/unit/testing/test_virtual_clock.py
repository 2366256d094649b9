"""Virtual time: advances, timers and jumps of the wall clock."""

import gc
import math
import re
import weakref
from datetime import timedelta

import pytest

from cordwood.core.types import TimestampMs
from cordwood.testing.virtual_clock import Duration, VirtualClock, VirtualTimer


def test_clock_advances_by_the_given_time() -> None:
    clock = VirtualClock(TimestampMs(1000))

    clock.advance(days=1, hours=1, seconds=1, ms=1)

    assert clock.monotonic_ms() == 90_001_001
    assert clock.now_ms() == 90_002_001


def test_clock_rejects_negative_time() -> None:
    with pytest.raises(ValueError, match="cannot go backwards"):
        VirtualClock().advance(ms=-1)


def test_wall_clock_jumps_without_making_calls() -> None:
    clock = VirtualClock(TimestampMs(1000))
    seen: list[int] = []
    clock.call_at(5, lambda: seen.append(1))

    clock.jump_wall(-500)

    assert clock.now_ms() == 500
    assert clock.monotonic_ms() == 0
    assert seen == []


def test_calls_see_the_time_at_which_they_are_due() -> None:
    clock = VirtualClock()
    seen: list[float] = []
    clock.call_at(7, lambda: seen.append(clock.monotonic_ms()))
    timer = clock.every(3, lambda: seen.append(clock.monotonic_ms()))

    clock.advance(ms=9)
    timer.cancel()
    clock.advance(ms=9)

    assert seen == [3, 6, 7, 9]


def test_next_call_ignores_cancelled_calls() -> None:
    clock = VirtualClock()
    clock.call_at(1, list).cancel()
    clock.call_at(2, list)

    assert clock.next_call_ms() == 2
    assert VirtualClock().next_call_ms() is None


def test_cancelled_timer_of_a_distant_time_keeps_nothing() -> None:
    clock, before = VirtualClock(), _timers()
    held = set[int]()
    kept = weakref.ref(held)

    for _ in range(1_000):
        clock.call_at(math.inf, lambda held=held: held).cancel()  # type: ignore[misc]  # a default
    del held

    assert kept() is None
    assert _timers() - before < 500


def _timers() -> int:
    """Return the number of timers in this process, of other tests too."""
    return sum(type(each) is VirtualTimer for each in gc.get_objects())


def test_slow_call_delays_later_calls_without_turning_time_back() -> None:
    clock = VirtualClock()
    seen: list[tuple[str, float]] = []

    def lag() -> None:
        clock.advance(ms=50)
        seen.append(("lag", clock.monotonic_ms()))

    clock.call_at(10, lag)
    clock.every(15, lambda: seen.append(("every", clock.monotonic_ms())))
    clock.advance(ms=20)

    assert seen == [("lag", 60), ("every", 60)]
    assert clock.monotonic_ms() == 60
    assert clock.next_call_ms() == 75


def test_clock_advances_by_a_timedelta_and_by_units() -> None:
    clock = VirtualClock()

    clock.advance(timedelta(hours=1), minutes=1, ms=5)

    assert clock.monotonic_ms() == 3_660_005
    assert repr(clock) == "<VirtualClock at 2023-11-14T23:14:20.005Z>"


@pytest.mark.parametrize(
    ("by", "units", "remedy"),
    (
        ((2,), {}, "2 has no unit; write advance(seconds=2), or give a timedelta"),
        ((), {"hour": 1}, "hour is not a unit of time; choose from days, hours, minutes"),
    ),
)
def test_advance_without_a_known_unit_is_rejected(
    by: tuple[timedelta, ...], units: Duration, remedy: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(remedy)):
        VirtualClock().advance(*by, **units)
