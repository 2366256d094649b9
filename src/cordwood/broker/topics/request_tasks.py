"""Tasks that are completed even if the request that began them is cancelled or has timed out."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import TypeVar

from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.core.errors import KafkaError, RequestTimedOutError

T = TypeVar("T")

_log = logging.getLogger(__name__)


class RequestTasks:
    """The tasks in progress; `stop` waits for all of them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(
        self, scene: Coroutine[object, object, None], *, deadline: RequestDeadline | None = None
    ) -> None:
        """Run a coroutine as a task, wait for its end, and raise its error.

        RequestTimedOutError at the deadline; the task goes on then, as after a cancellation, and
        its error is logged.
        """
        task = asyncio.get_running_loop().create_task(scene)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        is_over = False
        try:
            is_over = await _wait(task, deadline)
        finally:
            if not is_over:
                task.add_done_callback(_report)
        if not is_over:
            raise RequestTimedOutError
        try:
            task.result()
        finally:
            del task  # its error would refer to itself by this frame, and keep the request

    async def outcomes_of(
        self,
        scene: Coroutine[object, object, None],
        outcomes: list[T | KafkaError],
        *,
        deadline: RequestDeadline | None,
    ) -> list[T | KafkaError]:
        """Run a request; return its outcomes, with an error for each if its time is over."""
        try:
            await self.run(scene, deadline=deadline)
        except RequestTimedOutError as error:
            if not outcomes:
                raise
            return [each if isinstance(each, KafkaError) else error for each in outcomes]
        return outcomes

    async def stop(self) -> None:
        """Wait until every task has ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)


async def _wait(task: asyncio.Task[None], deadline: RequestDeadline | None) -> bool:
    if deadline is not None:
        return await deadline.wait(task)
    await asyncio.wait([task])
    return True


def _report(task: asyncio.Task[None]) -> None:
    """Log the error of a task that no caller waits for; a timeout has been answered already.

    A task is cancelled only with its loop.
    """
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, RequestTimedOutError):
        _log.error("a change of topics failed", exc_info=error)
