"""Tasks of one client, and the signal that wakes one of them."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import InvalidRequestError

T = TypeVar("T")


class OwnedTasks:
    """Tasks that end with their client; the event loop reports an error that no caller awaits."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[object]] = set()
        self._is_closed = False

    def start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Start a coroutine on the running loop; InvalidRequestError after `close`."""
        if self._is_closed:
            work.close()
            raise InvalidRequestError("the client is closed")
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def close(self) -> None:
        """Cancel all running tasks, and return when they have ended."""
        self._is_closed = True
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class WakeupSignal:
    """Event for one waiting task; it stays set until that task has woken."""

    def __init__(self, runtime: ClientRuntime) -> None:
        self._runtime = runtime
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None
        self._closed_by: Exception | None = None

    def close(self, reason: Exception) -> None:
        """End the wait with an error, now and later."""
        self._closed_by = reason
        self.set()

    def set(self) -> None:
        """Wake the task now, or at its next wait."""
        self._is_set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, until_ms: float | None = None) -> None:
        """Return when `set` was called since the last return, or when the time is reached."""
        assert self._waiter is None, "one task waits"
        if not self._is_set:
            self._waiter = asyncio.get_running_loop().create_future()
            scheduler = self._runtime.scheduler
            timer = None if until_ms is None else scheduler.call_at(until_ms, self.set)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        self._is_set = False
        if self._closed_by is not None:
            raise self._closed_by
