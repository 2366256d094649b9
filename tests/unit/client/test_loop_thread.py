"""Ends of a loop thread."""

import asyncio
import subprocess
import sys
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


async def _forever(started: threading.Event) -> None:
    started.set()
    await asyncio.get_running_loop().create_future()


def test_call_on_the_loops_own_thread_is_rejected() -> None:
    """K-B2: the call would wait for itself."""
    thread = LoopThread("mine")

    with pytest.raises(InvalidRequestError, match="own thread, such as in a callback"):
        thread.call(lambda: thread.run(_seven()))
    thread.end(_nothing)


def test_call_under_way_ends_with_the_thread() -> None:
    """K-B9: a thread that waits is notified when another one closes the client."""
    thread, started, found = LoopThread("mine"), threading.Event(), list[Exception]()

    def wait() -> None:
        try:
            thread.run(_forever(started))
        except InvalidRequestError as error:
            found.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    started.wait()
    thread.end(_nothing)
    waiting.join()

    assert [str(each) for each in found] == ["the client is closed"]


def test_real_fork_is_detected() -> None:
    """K-C13: the id of the process is renewed in the child."""
    program = (
        "import os; from cordwood.client.loop_thread import LoopThread;"
        " from cordwood.core.errors import InvalidRequestError; thread = LoopThread('mine')\n"
        "if os.fork():\n"
        "    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "try:\n"
        "    thread.ensure_not_forked()\n"
        "except InvalidRequestError:\n"
        "    os._exit(7)\n"
        "os._exit(0)\n"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7


def test_started_coroutine_has_a_result() -> None:
    async def work() -> int:
        return 3

    thread = LoopThread("t")
    pending = thread.start(work())

    assert thread.result(pending) == 3
    thread.end(_nothing)
