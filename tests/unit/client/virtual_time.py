"""Virtual time for clients on real sockets of one loop: it advances when the loop is idle."""

import asyncio
from collections.abc import Coroutine
from typing import NamedTuple

from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import CordwoodError
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock

#: Turns in which a request and its response cross loopback within one loop.
SETTLING_TURNS = 40


class Outcome(NamedTuple):
    """Result or error of a call, and the virtual time that it took."""

    result: object
    error: CordwoodError | None
    took_ms: float


class VirtualTime:
    """Clock of the clients of one test."""

    def __init__(self) -> None:
        self.clock = VirtualClock()

    def runtime(self) -> ClientRuntime:
        return ClientRuntime(self.clock, self.clock, SeededRandom(1))

    async def outcome(self, call: Coroutine[object, object, object], most_ms: float) -> Outcome:
        """Run a call to its end; it is cancelled after `most_ms`."""
        start_ms = self.clock.monotonic_ms()
        task = asyncio.get_running_loop().create_task(call)
        while not task.done() and self.clock.monotonic_ms() - start_ms < most_ms:
            for _ in range(SETTLING_TURNS):
                await asyncio.sleep(0)
            due_ms = self.clock.next_call_ms()
            if not task.done():
                assert due_ms is not None, "the call waits, and no timer will end the wait"
                self.clock.advance_to(due_ms)
        took_ms = self.clock.monotonic_ms() - start_ms
        task.cancel()
        try:
            return Outcome(await task, None, took_ms)
        except CordwoodError as error:
            return Outcome(None, error, took_ms)
        except asyncio.CancelledError:
            return Outcome(None, None, took_ms)
