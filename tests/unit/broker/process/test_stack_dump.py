"""Tests of the stacks of all threads and tasks."""

import asyncio
import re
import threading

import pytest

from cordwood.broker.process import stack_dump
from cordwood.broker.process.stack_dump import log_stacks
from cordwood.observability.log_lines import LOGFMT
from cordwood.observability.logs import EventFormatter
from tests.unit.broker.server_samples import Run, turn


def lines(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(EventFormatter(LOGFMT).format(each) for each in caplog.records)


async def innermost(event: asyncio.Event) -> None:
    await event.wait()


async def outermost(event: asyncio.Event) -> None:
    await innermost(event)


def test_tasks_with_the_same_stack_share_a_line(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        event = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(outermost(event))
            await turn()
            log_stacks(asyncio.all_tasks())
            event.set()

    run(scene())

    assert re.search(
        r'tasks=3 stack="outermost \(\S+:\d+\) > innermost \(\S+:\d+\) > Event.wait ', lines(caplog)
    )


def test_each_thread_has_a_line_with_its_innermost_call_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait, name="waiting")
    thread.start()
    log_stacks([])
    is_over.set()
    thread.join()

    assert re.search(r'thread=waiting stack=".* > wait \(\S+\) > wait \(\S+\)"', lines(caplog))
    assert re.search(r'thread=MainThread stack=".* > log_stacks .* > read ', lines(caplog))


def test_tasks_are_shown_without_a_descriptor_for_the_threads(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("Too many open files")

    monkeypatch.setattr(stack_dump, "ThreadStacks", fail)
    log_stacks([])

    assert "no stacks of threads" in lines(caplog)
