"""Tasks of a runtime that no request waits for; an error is logged and stops nothing else."""

import asyncio
import logging
from collections.abc import Coroutine

_log = logging.getLogger(__name__)


class BackgroundTasks:
    """The tasks in progress."""

    def __init__(self) -> None:
        self._tasks = set[asyncio.Task[None]]()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, scene: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Begin a task on the running loop."""
        task = asyncio.get_running_loop().create_task(scene)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    @property
    def is_idle(self) -> bool:
        """Whether all tasks have ended."""
        return not self._tasks

    async def settle(self, within_s: float) -> None:
        """Wait until the tasks of this moment have ended, or until the time is over."""
        if self._tasks:
            await asyncio.wait({*self._tasks}, timeout=within_s)

    async def stop(self) -> None:
        """Cancel all tasks and wait until they have ended."""
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a task of a coordinator failed", exc_info=error)
