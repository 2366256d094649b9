"""Something to do that takes turns on the loop, begun again and again by a timer.

It is not begun while it is still under way. What it raises is told, and is no reason not to begin
it the next time.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)


class Errand:
    """Runs `do`, a coroutine function, on the running loop."""

    def __init__(self, do: Callable[[], Awaitable[None]]) -> None:
        self._do = do
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin it, unless it is under way."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Cut it off, and return when it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            await self._do()
        except Exception:  # noqa: BLE001 - the task's owner: nobody waits for it
            _log.exception("errand failed")
