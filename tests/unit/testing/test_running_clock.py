"""Running time: advance, freeze and resume."""

import pytest

from cordwood.core.types import TimestampMs
from cordwood.testing.running_clock import RunningClock
from cordwood.testing.virtual_clock import VirtualClock


@pytest.fixture
def real() -> VirtualClock:
    """Return the clock that stands for real time."""
    return VirtualClock(TimestampMs(1000))


@pytest.fixture
def clock(real: VirtualClock) -> RunningClock:
    return RunningClock(real, real)


def test_running_clock_follows_real_time(clock: RunningClock, real: VirtualClock) -> None:
    real.advance(ms=7)

    assert clock.now_ms() == 1007
    assert clock.monotonic_ms() == 7


def test_running_clock_runs_on_from_where_it_has_jumped(
    clock: RunningClock, real: VirtualClock
) -> None:
    clock.advance(hours=1)
    real.advance(ms=7)

    assert clock.monotonic_ms() == 3_600_007


def test_calls_fall_due_by_real_time_and_by_jumps(clock: RunningClock, real: VirtualClock) -> None:
    seen: list[float] = []
    clock.call_at(5, lambda: seen.append(clock.monotonic_ms()))
    clock.call_at(100, lambda: seen.append(clock.monotonic_ms()))

    real.advance(ms=5)
    clock.advance(seconds=1)

    assert seen == [5, 100]


def test_earlier_call_runs_in_time_when_a_later_one_waits(
    clock: RunningClock, real: VirtualClock
) -> None:
    seen: list[str] = []
    clock.call_at(50, lambda: seen.append("late"))
    clock.call_at(5, lambda: seen.append("early"))

    real.advance(ms=6)

    assert seen == ["early"]


def test_frozen_clock_does_not_advance_until_it_runs(
    clock: RunningClock, real: VirtualClock
) -> None:
    seen: list[float] = []
    clock.call_at(5, lambda: seen.append(clock.monotonic_ms()))

    clock.freeze()
    real.advance(ms=50)
    times = [clock.monotonic_ms()]
    clock.run()
    real.advance(ms=6)
    times.append(clock.monotonic_ms())

    assert times == [0, 6]
    assert seen == [5]


def test_clock_reports_whether_it_runs(clock: RunningClock) -> None:
    at_first = clock.is_running

    clock.freeze()

    assert at_first
    assert not clock.is_running


def test_frozen_clock_can_be_advanced(clock: RunningClock, real: VirtualClock) -> None:
    seen: list[float] = []
    clock.every(10, lambda: seen.append(clock.monotonic_ms()))

    clock.freeze()
    clock.advance(ms=25)

    assert seen == [10, 20]
    assert clock.monotonic_ms() == 25


def test_calls_continue_after_a_failed_call(clock: RunningClock, real: VirtualClock) -> None:
    seen: list[int] = []

    def fail() -> None:
        raise ArithmeticError

    clock.call_at(5, fail)
    clock.call_at(9, lambda: seen.append(1))

    with pytest.raises(ArithmeticError):
        clock.advance(ms=6)
    real.advance(ms=20)

    assert seen == [1]


def test_wall_clock_jumps_to_a_time_without_making_calls(clock: RunningClock) -> None:
    seen: list[int] = []
    clock.call_at(5, lambda: seen.append(1))

    clock.jump_to(TimestampMs(500))

    assert clock.now_ms() == 500
    assert clock.monotonic_ms() == 0
    assert seen == []
