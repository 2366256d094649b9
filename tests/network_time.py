"""Virtual time of clients whose brokers are on real time, so that requests take some of it."""

import asyncio
from collections.abc import Callable
from functools import partial

from cordwood.client.network.runtime import resolve
from cordwood.testing.virtual_clock import VirtualClock


async def until(
    condition: Callable[[], bool], *, clock: VirtualClock | None = None, step_ms: float = 10
) -> None:
    """Let the network work, and the clock run in steps, until a condition holds."""
    loop = asyncio.get_running_loop()
    while not condition():
        turn = loop.create_future()
        loop.call_later(0.001, partial(resolve, turn))
        await turn
        if clock is not None:
            clock.advance(ms=step_ms)
