"""Waiting goes by the scheduler alone."""

import asyncio

import pytest

from cordwood.client.surroundings import Surroundings, ring, until
from cordwood.testing.clock import VirtualClock
from cordwood.testing.random import SeededRandom
from tests.unit.client.fake_broker import run


def virtual() -> tuple[VirtualClock, Surroundings]:
    clock = VirtualClock()
    return clock, Surroundings(clock, clock, SeededRandom(1))


def test_pause_ends_when_its_time_has_come() -> None:
    async def scene() -> float:
        clock, surroundings = virtual()
        async with asyncio.TaskGroup() as group:
            group.create_task(surroundings.pause(50))
            group.create_task(_advance(clock))
        return surroundings.now_ms()

    assert run(scene()) == 50


def test_work_in_time_returns() -> None:
    async def scene() -> None:
        clock, surroundings = virtual()
        bell = asyncio.get_running_loop().create_future()
        ring(bell)
        ring(bell)
        await surroundings.within(50, until(bell), late=TimeoutError)
        assert clock.next_call_ms() is None

    run(scene())


def test_work_that_is_late_is_cancelled_and_says_so() -> None:
    async def scene() -> None:
        clock, surroundings = virtual()
        bell = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            group.create_task(_advance(clock))
            with pytest.raises(TimeoutError):
                await surroundings.within(50, until(bell), late=TimeoutError)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(scene())


def test_work_that_is_cancelled_from_outside_stays_cancelled() -> None:
    async def scene() -> None:
        _, surroundings = virtual()
        bell = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(surroundings.within(50, until(bell), late=TimeoutError))
            group.create_task(_cancel(waiting))
        assert waiting.cancelled()

    run(scene())


async def _advance(clock: VirtualClock) -> None:
    while clock.next_call_ms() is None:
        await _turn()
    clock.advance(ms=50)


async def _cancel(task: asyncio.Task[None]) -> None:
    await _turn()
    task.cancel()


async def _turn() -> None:
    passed = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(passed.set_result, None)
    await passed
