"""Coroutine that a timer begins periodically, one run at a time.

A timer tick during a run is skipped. An error is logged and does not stop later runs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)


class PeriodicTask:
    """Runs the coroutine function `call` on the running loop."""

    def __init__(self, call: Callable[[], Awaitable[None]]) -> None:
        self._call = call
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin a run, unless one is in progress."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Cancel the run in progress and wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            await self._call()
        except Exception:  # noqa: BLE001 - the task's owner: no other code awaits it
            _log.exception("periodic task failed")
