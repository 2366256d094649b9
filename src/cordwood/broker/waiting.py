"""Waiting on the loop for what is done elsewhere: the worker's calls, and what they lead to."""

import asyncio
from typing import TypeVar

from cordwood.core.ports import Pending

T = TypeVar("T")


async def done(pending: Pending[T]) -> T:
    """Return the result, or raise the error, once there is one; the loop goes on meanwhile.

    Who is cancelled here waits no longer, and the call goes on.
    """
    if not pending.done():
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        pending.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
        await ended.wait()
    return pending.result()
