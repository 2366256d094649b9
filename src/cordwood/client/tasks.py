"""Who owns a task, and how one is woken."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from cordwood.client.surroundings import Surroundings
from cordwood.core.errors import InvalidRequestError

T = TypeVar("T")


class Tasks:
    """The tasks of one client: they end with it. An error that nobody waits for is reported."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[object]] = set()
        self._is_over = False

    def start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Begin work on the running loop; InvalidRequestError once they have been ended."""
        if self._is_over:
            work.close()
            raise InvalidRequestError("the client is closed")
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def close(self) -> None:
        """Cancel what still runs, and return when it has ended."""
        self._is_over = True
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class Signal:
    """Wakes the one task that waits; kept until it does."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Wake the task, now or when it next waits."""
        self._is_set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, until_ms: float | None = None) -> None:
        """Return when `set` was called since the last return, or when the time has come."""
        if not self._is_set:
            self._waiter = asyncio.get_running_loop().create_future()
            scheduler = self._surroundings.scheduler
            timer = None if until_ms is None else scheduler.call_at(until_ms, self.set)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        self._is_set = False
