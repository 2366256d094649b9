"""Conformance tests of the Clock and the Scheduler port, for the loop's time and virtual time."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from cordwood.core.ports import Clock, Scheduler
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.testing.running_clock import RunningClock
from cordwood.testing.virtual_clock import VirtualClock

Pass = Callable[[float], None]
Time = tuple[Clock, Scheduler, Pass]


@pytest.fixture(params=["system", "virtual", "running", "jumping"])
def time(request: pytest.FixtureRequest) -> Iterator[Time]:
    if request.param == "virtual":
        virtual = VirtualClock()
        yield virtual, virtual, lambda ms: virtual.advance(ms=ms)
        return
    loop = asyncio.new_event_loop()
    clock = SystemClock()

    def let_pass(ms: float) -> None:
        loop.call_later(ms / 1000, loop.stop)
        loop.run_forever()

    scheduler = LoopScheduler(loop, clock)
    running = RunningClock(clock, scheduler)
    times: dict[str, Time] = {
        "system": (clock, scheduler, let_pass),
        "running": (running, running, let_pass),
        "jumping": (running, running, lambda ms: running.advance(ms=ms)),
    }
    yield times[request.param]
    loop.close()


def test_clock_advances(time: Time) -> None:
    clock, _, let_pass = time
    wall, start = clock.now_ms(), clock.monotonic_ms()

    let_pass(5)

    assert clock.monotonic_ms() - start >= 4.9
    assert clock.now_ms() > wall > 1_600_000_000_000


def test_calls_run_in_the_order_of_their_times(time: Time) -> None:
    clock, scheduler, let_pass = time
    now, seen = clock.monotonic_ms(), list[str]()

    scheduler.call_at(now + 20, lambda: seen.append("late"))
    scheduler.call_at(now + 5, lambda: seen.append("early"))
    scheduler.call_at(now - 5, lambda: seen.append("at once"))

    assert seen == []
    let_pass(60)
    assert seen == ["at once", "early", "late"]


def test_cancelled_call_does_not_run(time: Time) -> None:
    clock, scheduler, let_pass = time
    seen: list[int] = []

    timer = scheduler.call_at(clock.monotonic_ms() + 1, lambda: seen.append(1))
    timer.cancel()
    timer.cancel()
    let_pass(10)

    assert seen == []


@pytest.mark.parametrize("interval_ms", (0, -1))
def test_every_rejects_an_invalid_interval(time: Time, interval_ms: float) -> None:
    _, scheduler, _ = time

    with pytest.raises(ValueError, match="an interval is above 0"):
        scheduler.every(interval_ms, list)


def test_every_repeats_until_cancelled(time: Time) -> None:
    _, scheduler, let_pass = time
    seen: list[int] = []

    def call() -> None:
        seen.append(1)
        if len(seen) == 3:
            timer.cancel()

    timer = scheduler.every(2, call)
    let_pass(100)

    assert seen == [1, 1, 1]
