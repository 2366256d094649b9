"""Tests of tasks that are completed without their callers."""

import asyncio
import gc
import weakref

import pytest

from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.broker.topics.request_tasks import RequestTasks
from cordwood.core.errors import KafkaStorageError, RequestTimedOutError
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import run, turns


async def failing() -> None:
    await turns(1)
    raise KafkaStorageError("no room")


def test_error_of_a_task_is_raised_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KafkaStorageError, match="no room"):
        run(RequestTasks().run(failing()))

    assert not caplog.records


def test_error_of_a_task_is_freed_without_a_garbage_collection() -> None:
    """Its frames have the whole request, which may be of 100 MiB."""
    errors = list[weakref.ref[KafkaStorageError]]()

    async def scene() -> None:
        try:
            await RequestTasks().run(failing())
        except KafkaStorageError as error:
            errors.append(weakref.ref(error))
        await turns(2)
        assert errors[0]() is None

    gc.disable()
    try:
        run(scene())
    finally:
        gc.enable()


def test_task_is_completed_after_its_caller_is_cancelled() -> None:
    done = list[str]()

    async def work() -> None:
        await turns(9)
        done.append("work")

    async def scene() -> None:
        tasks = RequestTasks()
        caller = asyncio.get_running_loop().create_task(tasks.run(work()))
        await turns(1)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        done.append("cancelled")
        await tasks.stop()

    run(scene())

    assert done == ["cancelled", "work"]


def test_error_of_a_task_that_timed_out_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()

    async def scene() -> None:
        tasks = RequestTasks()
        deadline = RequestDeadline(clock, clock, timeout_ms=0)
        clock.call_at(0, lambda: None)
        asyncio.get_running_loop().call_soon(lambda: clock.advance(ms=1))
        with pytest.raises(RequestTimedOutError):
            await tasks.run(failing(), deadline=deadline)
        await tasks.stop()

    run(scene())

    assert [each.message for each in caplog.records] == ["a change of topics failed"]


def test_task_that_ends_with_its_loop_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        caller = asyncio.get_running_loop().create_task(RequestTasks().run(turns(9)))
        await turns(1)
        caller.cancel()

    run(scene())

    assert not caplog.records
