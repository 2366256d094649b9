"""Tests of the timers of shards."""

from typing import TYPE_CHECKING

from cordwood.coordination.outcome import TimerChange, TimerKey
from cordwood.coordination.runtime.coordinator_timers import CoordinatorTimers, ShardTimers
from tests.unit.broker.broker_samples import run, turns
from tests.unit.coordination.runtime.runtime_samples import TIMER, RuntimeHarness

if TYPE_CHECKING:
    from cordwood.testing.virtual_clock import VirtualClock

A: TimerKey = ("session", "a")
B: TimerKey = ("session", "b")


class TimersHarness:
    """Timers of one shard with a virtual clock; `fired` has the keys and the passed time."""

    def __init__(self) -> None:
        harness = RuntimeHarness()
        self.clock: VirtualClock = harness.clock
        self.start_ms = self.clock.now_ms()
        self.fired = list[tuple[str, int]]()
        self.queue = CoordinatorTimers(harness.ports)
        self.timers: ShardTimers = self.queue.of_shard(self._fire)

    def set(self, key: TimerKey, in_ms: int | None) -> None:
        at_ms = None if in_ms is None else self.clock.now_ms() + in_ms
        self.timers.change(TimerChange(key, at_ms))

    def _fire(self, key: TimerKey, _: int) -> None:
        self.fired.append((key[1], self.clock.now_ms() - self.start_ms))


def test_timers_fire_in_the_order_of_their_times() -> None:
    harness = TimersHarness()
    harness.set(A, 20)
    harness.set(B, 10)

    harness.clock.advance(ms=30)

    assert harness.fired == [("b", 10), ("a", 20)]


def test_timer_that_is_set_again_fires_at_the_later_time_alone() -> None:
    harness = TimersHarness()
    harness.set(A, 10)
    harness.clock.advance(ms=5)
    harness.set(A, 10)

    harness.clock.advance(ms=30)

    assert harness.fired == [("a", 15)]


def test_timer_that_is_set_to_an_earlier_time_fires_then() -> None:
    harness = TimersHarness()
    harness.set(A, 50)
    harness.set(A, 10)

    harness.clock.advance(ms=100)

    assert harness.fired == [("a", 10)]


def test_cancelled_timer_does_not_fire() -> None:
    harness = TimersHarness()
    harness.set(A, 10)
    harness.set(A, None)

    harness.clock.advance(ms=100)

    assert harness.fired == []


def test_timer_set_after_it_was_cancelled_fires_once() -> None:
    harness = TimersHarness()
    harness.set(A, 10)
    harness.set(A, None)
    harness.set(A, 10)

    harness.clock.advance(ms=100)

    assert harness.fired == [("a", 10)]


def test_timer_in_the_past_fires_soon() -> None:
    harness = TimersHarness()
    harness.set(A, -5)

    harness.clock.advance(ms=0)

    assert harness.fired == [("a", 0)]


def test_timers_of_a_shard_that_ends_are_cancelled() -> None:
    harness = TimersHarness()
    harness.set(A, 10)
    harness.timers.cancel_all()

    harness.clock.advance(ms=100)

    assert harness.fired == []


def test_places_of_timers_that_are_gone_are_freed() -> None:
    harness = TimersHarness()

    for number in range(1000):
        harness.set(("session", str(number)), 1000)
        harness.set(("session", str(number)), None)

    assert len(harness.queue) < 100


def test_timer_appends_and_replays_its_outcome() -> None:
    async def scene() -> tuple[list[str], list[tuple[TimerKey, int]]]:
        harness = RuntimeHarness()
        shard = await harness.elect()
        at_ms = harness.clock.now_ms() + 1000
        await harness.set_timer(at_ms)
        harness.clock.advance(seconds=1)
        await turns()
        return shard.groups, [(key, now_ms - at_ms) for key, now_ms in shard.fired]

    assert run(scene()) == (["g"], [(TIMER, 0)])


def test_shard_never_sees_a_time_before_its_timer_when_the_wall_clock_went_back() -> None:
    async def scene() -> list[int]:
        harness = RuntimeHarness()
        shard = await harness.elect()
        at_ms = harness.clock.now_ms() + 1000
        await harness.set_timer(at_ms)
        harness.clock.jump_wall(-50_000)
        harness.clock.advance(seconds=1)
        await turns()
        return [now_ms - at_ms for _, now_ms in shard.fired]

    assert run(scene()) == [0]


def test_many_timers_that_are_due_together_take_several_turns() -> None:
    harness = RuntimeHarness()
    calls = list[float]()
    queue = CoordinatorTimers(harness.ports)

    def fire(_: TimerKey, __: int) -> None:
        calls.append(harness.clock.monotonic_ms())
        harness.network_clock.advance(ms=1)

    timers = queue.of_shard(fire)
    for number in range(5):
        timers.change(TimerChange(("session", str(number)), harness.clock.now_ms() + 1))
    first = harness.clock.next_call_ms()
    harness.clock.advance(ms=1)

    assert (first, len(calls)) == (1, 5)
    assert queue.rings == 3
