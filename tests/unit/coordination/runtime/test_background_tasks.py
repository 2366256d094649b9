"""Tests of tasks that no request waits for."""

import asyncio

import pytest

from cordwood.coordination.runtime.background_tasks import BackgroundTasks
from tests.unit.broker.broker_samples import run, turns


def test_error_of_a_task_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("odd")

    async def scene() -> int:
        tasks = BackgroundTasks()
        tasks.begin(fail())
        await turns()
        return len(tasks)

    assert run(scene()) == 0
    assert "ValueError: odd" in caplog.text


def test_settle_waits_for_the_tasks_of_the_moment() -> None:
    async def scene() -> tuple[int, int]:
        tasks = BackgroundTasks()
        tasks.begin(turns(3))
        before = len(tasks)
        await tasks.settle(60)
        await tasks.settle(60)
        return before, len(tasks)

    assert run(scene()) == (1, 0)


def test_settle_ends_with_its_time() -> None:
    async def scene() -> int:
        tasks = BackgroundTasks()
        tasks.begin(asyncio.Event().wait())  # type: ignore[arg-type]  # its result is not used
        await tasks.settle(0)
        left = len(tasks)
        await tasks.stop()
        return left

    assert run(scene()) == 1


def test_stop_cancels_what_runs() -> None:
    async def scene() -> int:
        tasks = BackgroundTasks()
        tasks.begin(asyncio.Event().wait())  # type: ignore[arg-type]  # its result is not used
        await turns()
        await tasks.stop()
        return len(tasks)

    assert run(scene()) == 0
