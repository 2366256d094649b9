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


def test_task_started_after_close_is_rejected() -> None:
    async def scene() -> None:
        tasks = OwnedTasks()
        await tasks.close()

        with pytest.raises(InvalidRequestError, match="closed"):
            tasks.start(_forever())

    run(scene())


def test_signal_set_twice_before_a_wait_wakes_once() -> None:
    async def scene() -> None:
        signal = WakeupSignal(system_runtime())
        signal.set()
        signal.set()

        await signal.wait()
        await signal.wait(until_ms=0)

    run(scene())


def test_signal_wakes_a_waiting_task() -> None:
    async def scene() -> None:
        signal = WakeupSignal(system_runtime())
        asyncio.get_running_loop().call_soon(signal.set)

        await signal.wait()

    run(scene())
