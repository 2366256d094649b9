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


def test_stop_cancels_what_runs() -> None:
    async def scene() -> int:
        tasks = BackgroundTasks()
        tasks.begin(asyncio.Event().wait())  # type: ignore[arg-type]  # its result is not used
        await turns()
        await tasks.stop()
        return len(tasks)

    assert run(scene()) == 0
