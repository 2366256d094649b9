"""Wakes of waiting fetches, a few per turn of the loop (Kafka: none, since fetches have threads).

One append can end thousands of long polls, and each takes about 0.1 ms to read and to answer. The
partitions of a broker share one queue, so that other requests wait for a few of them at most. The
first fetches wake at once.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from cordwood.broker.partitions.offset_waiters import OffsetWaiter

#: Each is a task of about 0.1 ms.
WAKES_PER_TURN: Final = 20


class FetchWakes:
    """The fetches that are due. Used on one thread; `call_soon` runs a call in a later turn."""

    __slots__ = ("_call_soon", "_due", "_has_turn")

    def __init__(self, call_soon: Callable[[Callable[[], object]], object]) -> None:
        self._call_soon = call_soon
        self._due = deque[OffsetWaiter]()
        self._has_turn = False

    def add(self, waiters: Iterable[OffsetWaiter]) -> None:
        """Wake fetches in their order, after those that are due already."""
        self._due.extend(waiters)
        if self._due and not self._has_turn:
            self._wake_some()

    def _wake_some(self) -> None:
        # A waiter that is woken may add others: they belong to the next turn.
        self._has_turn = True
        for _ in range(min(WAKES_PER_TURN, len(self._due))):
            self._due.popleft().wake()
        self._call_soon(self._begin_turn)

    def _begin_turn(self) -> None:
        self._has_turn = False
        if self._due:
            self._wake_some()
