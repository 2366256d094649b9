"""Tasks end with their owner; a wakeup is never lost."""

import asyncio

import pytest

from cordwood.client.network.owned_tasks import OwnedTasks, WakeupSignal
from cordwood.client.network.runtime import system_runtime
from cordwood.core.errors import InvalidRequestError
from tests.unit.client.fake_broker import run


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


def test_tasks_end_when_their_owner_closes() -> None:
    async def scene() -> None:
        tasks = OwnedTasks()
        task = tasks.start(_forever())

        await tasks.close()

        assert task.cancelled()

    run(scene())


def test_task_that_comes_after_the_end_is_refused() -> None:
    async def scene() -> None:
        tasks = OwnedTasks()
        await tasks.close()

        with pytest.raises(InvalidRequestError, match="closed"):
            tasks.start(_forever())

    run(scene())


def test_signal_that_was_set_before_is_heard_once() -> None:
    async def scene() -> None:
        signal = WakeupSignal(system_runtime())
        signal.set()
        signal.set()

        await signal.wait()
        await signal.wait(until_ms=0)

    run(scene())


def test_signal_wakes_who_waits() -> None:
    async def scene() -> None:
        signal = WakeupSignal(system_runtime())
        asyncio.get_running_loop().call_soon(signal.set)

        await signal.wait()

    run(scene())
