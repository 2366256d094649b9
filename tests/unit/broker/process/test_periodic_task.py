"""Tests of periodic tasks."""

import asyncio

import pytest

from cordwood.broker.process.periodic_task import PeriodicTask
from tests.unit.broker.broker_samples import run


def test_task_does_not_start_while_it_is_running() -> None:
    begun = list[int]()

    async def scene() -> None:
        over = asyncio.Event()

        async def do() -> None:
            begun.append(len(begun))
            await over.wait()

        errand = PeriodicTask(do)
        for _ in range(3):
            errand.begin()
            await asyncio.sleep(0)
        over.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        errand.begin()
        await asyncio.sleep(0)

    run(scene())

    assert begun == [0, 1]


def test_stopped_task_has_ended() -> None:
    ended = list[str]()

    async def scene() -> None:
        async def do() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("ended")

        errand = PeriodicTask(do)
        errand.begin()
        await asyncio.sleep(0)
        await errand.stop()

    run(scene())

    assert ended == ["ended"]


def test_failed_run_is_logged_and_followed_by_another_run(caplog: pytest.LogCaptureFixture) -> None:
    tried = list[int]()

    async def scene() -> None:
        async def do() -> None:
            tried.append(1)
            raise OSError("no")

        errand = PeriodicTask(do)
        for _ in range(2):
            errand.begin()
            await asyncio.sleep(0)
        await errand.stop()

    run(scene())

    assert len(tried) == 2
    assert [each.message for each in caplog.records] == ["periodic task failed"] * 2
