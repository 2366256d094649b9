"""Result of a call that may run on another thread, awaited on the event loop."""

import asyncio
from typing import TypeVar

from cordwood.core.ports import Pending

T = TypeVar("T")


async def result_of(pending: Pending[T]) -> T:
    """Wait without blocking the loop; return the result or raise the error."""
    if not pending.done():
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        pending.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
        await ended.wait()
    return pending.result()
