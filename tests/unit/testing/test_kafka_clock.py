"""The clock of a broker under test, controlled from the test's thread."""

import asyncio
from collections.abc import Iterator

import pytest

from cordwood.client.loop_thread import LoopThread
from cordwood.testing.kafka_clock import KafkaClock
from cordwood.testing.running_clock import RunningClock
from cordwood.testing.virtual_clock import VirtualClock


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("clock")

    async def nothing() -> None:
        pass

    yield thread
    thread.end(nothing)


@pytest.fixture
def inner() -> RunningClock:
    real = VirtualClock()
    return RunningClock(real, real)


def test_advance_runs_calls_in_order_with_those_that_they_schedule(
    thread: LoopThread, inner: RunningClock
) -> None:
    seen: list[tuple[str, float]] = []

    def note(what: str) -> None:
        seen.append((what, inner.monotonic_ms()))

    inner.call_at(10, lambda: inner.call_at(20, lambda: note("asked for")))
    inner.every(25, lambda: note("again"))

    KafkaClock(inner, thread).advance(ms=60)

    assert seen == [("asked for", 20), ("again", 25), ("again", 50)]


def test_advance_runs_tasks_started_by_a_call(thread: LoopThread, inner: RunningClock) -> None:
    seen: list[float] = []

    async def work() -> None:
        seen.append(inner.monotonic_ms())

    tasks: list[object] = []

    def begin() -> None:

        tasks.append(asyncio.get_running_loop().create_task(work()))

    inner.call_at(10, begin)
    inner.call_at(20, list)

    KafkaClock(inner, thread).advance(ms=30)

    assert seen == [10]


def test_advance_rejects_negative_time(thread: LoopThread, inner: RunningClock) -> None:
    with pytest.raises(ValueError, match="time cannot go backwards"):
        KafkaClock(inner, thread).advance(seconds=-1)


def test_clock_freezes_and_runs_on_the_broker_s_thread(
    thread: LoopThread, inner: RunningClock
) -> None:
    clock = KafkaClock(inner, thread)

    clock.freeze()
    frozen = inner.is_running
    clock.run()

    assert not frozen
    assert inner.is_running
    assert clock.now_ms() == inner.now_ms()
