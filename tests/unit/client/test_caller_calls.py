"""Calls that a coroutine hands to the waiting thread."""

import threading
from collections.abc import Iterator

import pytest

from cordwood.client.caller_calls import CallerCalls
from cordwood.client.loop_thread import LoopThread
from cordwood.core.errors import InvalidRequestError


async def nothing() -> None:
    """End the thread without a last call."""


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    made = LoopThread("calls")
    yield made
    made.end(nothing)


def test_call_runs_on_the_waiting_thread_and_returns_its_result(thread: LoopThread) -> None:
    calls = CallerCalls()

    async def work() -> tuple[str, str]:
        name = calls.handed_over(lambda: threading.current_thread().name)
        return await name(), threading.current_thread().name

    assert calls.run(thread, work()) == (threading.current_thread().name, "calls")


def test_error_of_a_call_is_raised_in_the_coroutine(thread: LoopThread) -> None:
    calls = CallerCalls()

    def fail() -> None:
        raise InvalidRequestError("mine")

    async def work() -> str:
        with pytest.raises(InvalidRequestError, match="mine"):
            await calls.handed_over(fail)()
        return "caught"

    assert calls.run(thread, work()) == "caught"


def test_call_may_run_another_coroutine(thread: LoopThread) -> None:
    calls = CallerCalls()

    async def inner() -> int:
        return await calls.handed_over(lambda: 1)()

    async def outer() -> int:
        return 1 + await calls.handed_over(lambda: calls.run(thread, inner()))()

    assert calls.run(thread, outer()) == 2


def test_call_runs_on_the_loop_when_no_thread_waits(thread: LoopThread) -> None:
    calls = CallerCalls()

    async def work() -> str:
        return await calls.handed_over(lambda: threading.current_thread().name)()

    assert thread.run(work()) == "calls"


def test_interrupted_call_cancels_the_coroutine(thread: LoopThread) -> None:
    calls = CallerCalls()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calls.run(thread, calls.handed_over(interrupt)())
