"""Calls on the event loop for results of workers, a few milliseconds of them per turn.

A request can need a change of files in each of thousands of partitions. The writes that follow
become due within a few milliseconds, and each may wait for the interpreter lock after its system
calls. All in one turn would delay every other request by their sum. One wake of the loop is enough
for all calls that become due until the loop runs them.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from cordwood.broker.loop_turns import TURN_MS
from cordwood.core.ports import Clock


class LoopCalls:
    """Calls from any thread, which run on the loop's thread in their order."""

    __slots__ = ("_calls", "_clock", "_is_due", "_loop")

    def __init__(self, clock: Clock) -> None:
        """Use the running loop."""
        self._loop = asyncio.get_running_loop()
        self._clock: Final = clock
        self._calls = deque[Callable[[], object]]()
        #: Set without a lock: a turn too many finds no call, and none is missed. A thread reads it
        #: after it has added its call, and a turn begins when it has been cleared.
        self._is_due = False

    def call_soon(self, call: Callable[[], object]) -> None:
        """Run the call in a later turn of the loop."""
        self._calls.append(call)
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        """Run calls for TURN_MS, and at least one. An error goes to the loop, as of any call."""
        self._is_due = False
        end_ms = self._clock.monotonic_ms() + TURN_MS
        try:
            # A call that these add belongs to the next turn.
            for _ in range(len(self._calls)):
                self._calls.popleft()()
                if self._clock.monotonic_ms() >= end_ms:
                    return
        finally:
            if self._calls and not self._is_due:
                self._is_due = True
                self._loop.call_soon(self._run)
