"""Deadline of a request (Kafka: `ControllerRequestContext.deadlineNs`).

A request whose turn comes at its deadline or later has no effect. One that has begun is completed,
but its response is sent at the deadline, with REQUEST_TIMED_OUT for what is not complete.
"""

import asyncio
from collections.abc import Callable

from cordwood.core.errors import RequestTimedOutError
from cordwood.core.ports import Clock, Scheduler, Timer


class RequestDeadline:
    """The end of a request's time, `timeout_ms` from now."""

    def __init__(self, clock: Clock, scheduler: Scheduler, *, timeout_ms: int) -> None:
        self._clock = clock
        self._scheduler = scheduler
        self._due_ms = clock.monotonic_ms() + timeout_ms

    def is_over(self) -> bool:
        """Return whether the deadline has come."""
        return self._clock.monotonic_ms() >= self._due_ms

    def ensure_time(self) -> None:
        """Raise RequestTimedOutError at the deadline, and after it."""
        if self.is_over():
            raise RequestTimedOutError

    def call(self, call: Callable[[], object]) -> Timer:
        """Call once at the deadline."""
        return self._scheduler.call_at(self._due_ms, call)

    async def wait(self, task: asyncio.Task[None]) -> bool:
        """Wait until a task has ended or the deadline has come; return whether it has ended."""
        over = asyncio.Event()
        timer = self.call(over.set)
        task.add_done_callback(lambda _: over.set())
        try:
            await over.wait()
        finally:
            timer.cancel()
        return task.done()
