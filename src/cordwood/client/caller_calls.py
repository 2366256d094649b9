"""Calls that a coroutine on a loop thread hands to the thread that waits for the coroutine."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import ParamSpec, TypeAlias, TypeVar

from cordwood.client.loop_thread import LoopThread

P = ParamSpec("P")
T = TypeVar("T")

_Call: TypeAlias = Callable[[], object]


class CallerCalls:
    """Calls for the waiting thread; one that waits within a call gets the calls meanwhile."""

    def __init__(self) -> None:
        self._waiting: list[SimpleQueue[_Call | None]] = []

    def run(self, thread: LoopThread, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on a loop thread, and the calls that it hands over on this one."""
        calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._waiting.append(calls)  # first: the coroutine may begin before `start` returns
        try:
            pending = thread.start(work)
            pending.add_done_callback(lambda _: calls.put(None))
            self._run_calls(calls, pending)
        finally:
            self._waiting.remove(calls)
        return thread.result(pending)

    @staticmethod
    def _run_calls(calls: "SimpleQueue[_Call | None]", pending: "Future[T]") -> None:
        try:
            while (call := calls.get()) is not None:
                call()
        except BaseException:
            pending.cancel()
            raise

    def handed_over(self, call: Callable[P, T]) -> Callable[P, Coroutine[object, object, T]]:
        """Return the function as one that a coroutine calls on the waiting thread.

        It runs on the coroutine's own thread if none waits.
        """

        async def calling(*args: P.args, **kwargs: P.kwargs) -> T:
            if not self._waiting:
                return call(*args, **kwargs)
            outcome: Future[T] = Future()
            self._waiting[-1].put(partial(_settle, outcome, partial(call, *args, **kwargs)))
            return await asyncio.wrap_future(outcome)

        return calling


def _settle(outcome: "Future[T]", call: Callable[[], T]) -> None:
    """Give the result or the error of a call to the coroutine that waits for it."""
    try:
        outcome.set_result(call())
    except Exception as error:  # noqa: BLE001 - the coroutine raises it
        outcome.set_exception(error)
    except BaseException:  # such as an interrupt, which this thread raises
        outcome.cancel()
        raise
