"""Ends of a loop thread."""

import asyncio
import threading

import pytest

from cordwood.client.loop_thread import LoopThread
from cordwood.core.errors import InvalidRequestError


async def _nothing() -> None:
    pass


async def _seven() -> int:
    return 7


async def _name() -> str:
    return threading.current_thread().name


def test_work_is_done_on_the_loops_thread() -> None:
    thread = LoopThread("mine")

    assert thread.run(_seven()) == 7
    assert thread.run(_name()) == "mine"
    assert thread.call(lambda: 8) == 8
    thread.end(_nothing)


def test_error_is_raised_to_the_caller() -> None:
    thread = LoopThread("mine")

    with pytest.raises(ZeroDivisionError):
        thread.call(lambda: 1 // 0)
    thread.end(_nothing)


def test_ended_thread_rejects_work() -> None:
    thread = LoopThread("mine")
    thread.end(_nothing)
    thread.end(_nothing)

    with pytest.raises(InvalidRequestError, match="closed"):
        thread.run(_seven())
    assert "mine" not in {each.name for each in threading.enumerate()}


def test_thread_may_be_ended_from_its_loop() -> None:
    thread = LoopThread("mine")
    (mine,) = (each for each in threading.enumerate() if each.name == "mine")

    thread.call(lambda: thread.end(_nothing))

    mine.join()


def test_forked_child_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = LoopThread("mine")
    with monkeypatch.context() as patch:
        patch.setattr("cordwood.client.loop_thread._process_id", lambda: -1)
        with pytest.raises(InvalidRequestError, match="fork"):
            thread.run(_seven())
        thread.end(_nothing)

    assert thread.run(_seven()) == 7
    thread.end(_nothing)
    assert not asyncio.iscoroutinefunction(thread.end)
