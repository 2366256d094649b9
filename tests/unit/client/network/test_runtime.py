"""Waits depend on the scheduler alone."""

import asyncio

import pytest

from cordwood.client.network.runtime import ClientRuntime, completion_of, resolve, system_runtime
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.client.fake_broker import run


def virtual() -> tuple[VirtualClock, ClientRuntime]:
    clock = VirtualClock()
    return clock, ClientRuntime(clock, clock, SeededRandom(1))


def test_sleep_ends_at_its_time() -> None:
    async def scene() -> float:
        clock, runtime = virtual()
        async with asyncio.TaskGroup() as group:
            group.create_task(runtime.sleep_ms(50))
            group.create_task(_advance(clock))
        return runtime.now_ms()

    assert run(scene()) == 50


def test_work_in_time_returns() -> None:
    async def scene() -> None:
        clock, runtime = virtual()
        bell = asyncio.get_running_loop().create_future()
        resolve(bell)
        resolve(bell)
        await runtime.run_with_timeout(50, completion_of(bell), timeout_error=TimeoutError)
        assert clock.next_call_ms() is None

    run(scene())


def test_late_work_is_cancelled_and_raises() -> None:
    async def scene() -> None:
        clock, runtime = virtual()
        bell = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            group.create_task(_advance(clock))
            with pytest.raises(TimeoutError):
                await runtime.run_with_timeout(50, completion_of(bell), timeout_error=TimeoutError)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(scene())


def test_work_that_is_cancelled_from_outside_stays_cancelled() -> None:
    async def scene() -> None:
        _, runtime = virtual()
        bell = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(
                runtime.run_with_timeout(50, completion_of(bell), timeout_error=TimeoutError)
            )
            group.create_task(_cancel(waiting))
        assert waiting.cancelled()

    run(scene())


def test_system_runtime_sleeps_on_the_running_loop() -> None:
    async def scene() -> None:
        runtime = system_runtime()
        await runtime.sleep_ms(0)
        assert 0 <= runtime.random.fraction() < 1

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
