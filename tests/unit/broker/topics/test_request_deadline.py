"""Tests of the deadline of a request."""

import asyncio

import pytest

from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.core.errors import RequestTimedOutError
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import run, turns


def test_request_has_time_before_its_deadline_only() -> None:
    clock = VirtualClock()
    deadline = RequestDeadline(clock, clock, timeout_ms=5)

    clock.advance(ms=4)
    deadline.ensure_time()
    clock.advance(ms=1)

    with pytest.raises(RequestTimedOutError):
        deadline.ensure_time()


def test_call_is_made_at_the_deadline() -> None:
    clock, calls = VirtualClock(), list[bool]()
    deadline = RequestDeadline(clock, clock, timeout_ms=5)
    deadline.call(lambda: calls.append(deadline.is_over()))

    clock.advance(ms=4)
    before = [*calls], deadline.is_over()
    clock.advance(ms=1)

    assert before == ([], False)
    assert calls == [True]


def waited(clock: VirtualClock, *, is_ending: bool) -> bool:
    """Return the result of a wait for a task that ends, or does not end, before the deadline."""

    async def scene() -> bool:
        end = asyncio.Event()

        async def work() -> None:
            await end.wait()

        loop = asyncio.get_running_loop()
        task = loop.create_task(work())
        waiting = loop.create_task(RequestDeadline(clock, clock, timeout_ms=5).wait(task))
        await turns()
        if is_ending:
            end.set()
        else:
            clock.advance(ms=5)
        has_ended = await waiting
        end.set()
        await task
        return has_ended

    return run(scene())


def test_wait_ends_with_the_task() -> None:
    clock = VirtualClock()

    assert waited(clock, is_ending=True)
    assert clock.next_call_ms() is None


def test_wait_ends_at_the_deadline() -> None:
    assert not waited(VirtualClock(), is_ending=False)
