"""Turns of the event loop within one request (Kafka: none, since its handlers have threads).

A request may have thousands of elements. Its handler processes them for TURN_MS per turn, so that
other requests wait for a few milliseconds at most. Requests that begin in the same turn of the loop
share FIRST_TURNS_MS; each processes at least one element. Of all requests that need more than one
turn, one continues in each turn of the loop. The state can change between two turns: the elements
of a response may be of different moments, as in Kafka.

Meanwhile the garbage collector makes no full collection: it would visit the elements of the
response, which may be a hundred times those of the request.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack
from typing import Final, TypeAlias, TypeVar

from cordwood.broker.full_collections import without_full_collections
from cordwood.core.ports import Clock

T = TypeVar("T")
R = TypeVar("R")

CallSoon: TypeAlias = Callable[[Callable[[], object]], object]

#: The time of one request in one turn. Shorter turns would delay long requests, not shorten pauses:
#: a switch to another thread takes as long.
TURN_MS: Final = 2
#: The time of all requests that begin in one turn of the loop.
FIRST_TURNS_MS: Final = 4
#: Elements of a few microseconds each, after which the clock is read once. A request for one
#: partition must be answered in its first turn, also on a busy machine. There the time of a turn
#: can be over before the turn has begun, since the time of other processes counts.
LIGHT_ELEMENTS: Final = 64


class TurnQueue:
    """The order in which the long requests of one broker continue."""

    __slots__ = (
        "_collections",
        "_first_turns_end_ms",
        "_is_due",
        "_is_held",
        "_waiting",
        "call_soon",
        "clock",
    )

    def __init__(self, clock: Clock, call_soon: CallSoon | None = None) -> None:
        """Use the `call_soon` of the running loop unless it is given."""
        self.clock: Final = clock
        self.call_soon = call_soon or _call_soon
        self._waiting = deque[asyncio.Future[None]]()
        self._is_due = False
        self._collections = ExitStack()
        self._is_held = False
        self._first_turns_end_ms: float | None = None

    def end_of_first_turn(self) -> float:
        """Return when the first turn of a request ends that begins now."""
        now_ms = self.clock.monotonic_ms()
        end_ms = self._first_turns_end_ms
        if end_ms is None:
            end_ms = self._first_turns_end_ms = now_ms + FIRST_TURNS_MS
            self.call_soon(self._end_first_turns)
        return min(now_ms + TURN_MS, end_ms)

    def _end_first_turns(self) -> None:
        """Begin another turn of the loop."""
        self._first_turns_end_ms = None

    async def next_turn(self) -> None:
        """Wait until all other long requests that wait have had a turn of the loop."""
        if not self._is_held:
            self._is_held = True
            self._collections.enter_context(without_full_collections())
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._continue_soon()
        await turn

    def _continue_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self.call_soon(self._continue_one)

    def _continue_one(self) -> None:
        self._is_due = False
        turn = self._waiting.popleft()
        if not turn.done():  # a request that was cancelled has none
            turn.set_result(None)
        if self._waiting:
            self._continue_soon()
        else:
            self.call_soon(self._end_hold)

    def _end_hold(self) -> None:
        """Allow full collections, unless the last request has begun to wait again."""
        if not self._waiting:
            self.close()

    def close(self) -> None:
        """Allow full collections; a loop that ends gives no turn to the requests that wait."""
        self._is_held = False
        self._collections.close()


def _call_soon(call: Callable[[], object]) -> object:
    return asyncio.get_running_loop().call_soon(call)


class LoopTurns:
    """The turns of one request, of all its lists together."""

    __slots__ = ("_end_ms", "_has_begun", "_light", "_queue")

    def __init__(self, queue: TurnQueue) -> None:
        self._queue = queue
        self._end_ms = queue.end_of_first_turn()
        self._has_begun = False
        self._light = 0

    @property
    def is_over(self) -> bool:
        """Whether the request has used the time of its turn; not before its first element."""
        if not self._has_begun:
            self._has_begun = True
            return False
        return self._queue.clock.monotonic_ms() >= self._end_ms

    def is_over_at_light(self) -> bool:
        """Count a light element; return `is_over` once for LIGHT_ELEMENTS of them."""
        self._light += 1
        return self._light % LIGHT_ELEMENTS == 0 and self.is_over

    def begin(self) -> None:
        """Begin a turn after a wait for anything else."""
        self._end_ms = self._queue.clock.monotonic_ms() + TURN_MS

    async def pause(self) -> None:
        """Begin a new turn if this one is over."""
        if self.is_over:
            await self._queue.next_turn()
            self.begin()

    async def collect(self, call: Callable[[T], R], elements: Iterable[T]) -> list[R]:
        """Return the results of a call for each element, as `of` yields the elements.

        An asynchronous generator would cost a small request more than the rest of its handler.
        """
        results = []
        for element in elements:
            if self.is_over:
                await self.pause()
            results.append(call(element))
        return results

    async def of(self, elements: Iterable[T]) -> AsyncIterator[T]:
        """Yield the elements; begin a new turn when this one is over.

        The iterable must not change between two turns.
        """
        for element in elements:
            if self.is_over:
                await self.pause()
            yield element
