"""Waiters for a bound of a log, called by threshold (Kafka: `DelayedOperationPurgatory`).

    add       registers a call for the moment at which the bound reaches a threshold
    reach     makes the calls whose thresholds the bound has reached; the others cost nothing
    take      removes those waiters instead, and the caller makes their calls
    take_all  removes all waiters: the partition has changed in another way

A threshold is an offset, or a place in the files of a log. Each waiter is called once. A cancelled
one stays in the heap until its threshold is reached, or until most of the heap is cancelled: waits
that end by timeout must not fill the memory.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, Protocol, TypeVar

from cordwood.storage.log.log_read import LogPosition

#: A heap with fewer entries is not searched for cancelled ones.
_SMALL_HEAP: Final = 32

Call = Callable[[], object]
K = TypeVar("K", int, LogPosition)


class _Heap(Protocol):
    """The waiters among which one is."""

    def cancel(self, waiter: "OffsetWaiter") -> None:
        """Remove a waiter; without effect if it was called or cancelled before."""


class OffsetWaiter:
    """One registered call; `call` is None once it was made or cancelled.

    `is_waiting` is set until the threshold is reached, the partition changes, or the waiter is
    cancelled.
    """

    __slots__ = ("_heap", "call", "is_waiting")

    def __init__(self, heap: _Heap, call: Call) -> None:
        self._heap = heap
        self.call: Call | None = call
        self.is_waiting = True

    def wake(self) -> None:
        """Make the call, unless it was made or cancelled before."""
        call, self.call = self.call, None
        if call is not None:
            call()

    def cancel(self) -> None:
        """Remove the waiter; without effect if it was called or cancelled before."""
        self._heap.cancel(self)


class OffsetWaiters(Generic[K]):
    """The waiters for one bound of a partition. Used on one thread."""

    __slots__ = ("_added", "_cancelled", "_heap")

    def __init__(self) -> None:
        #: Thresholds with the number and the waiter: tuples are compared without a Python call.
        self._heap: list[tuple[K, int, OffsetWaiter]] = []
        self._added = 0
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def add(self, threshold: K, call: Call) -> OffsetWaiter:
        """Register a call; waiters for the same threshold are called in their order."""
        self._added += 1
        waiter = OffsetWaiter(self, call)
        heappush(self._heap, (threshold, self._added, waiter))
        return waiter

    def cancel(self, waiter: OffsetWaiter) -> None:
        """Remove a waiter; without effect if it was called or cancelled before."""
        if waiter.call is None:
            return
        waiter.call = None
        if not waiter.is_waiting:
            return
        waiter.is_waiting = False
        self._cancelled += 1
        if len(self._heap) > _SMALL_HEAP and self._cancelled > len(self._heap) // 2:
            self._heap = [each for each in self._heap if each[2].call is not None]
            heapify(self._heap)
            self._cancelled = 0

    def reach(self, bound: K) -> None:
        """Make the calls with thresholds up to `bound`."""
        # A call may add waiters, so all of them are removed before the first call.
        for waiter in self.take(bound):
            waiter.wake()

    def take(self, bound: K) -> list[OffsetWaiter]:
        """Remove and return the waiters with thresholds up to `bound`, in their order."""
        taken, heap = [], self._heap
        while heap and heap[0][0] <= bound:
            taken.append(self._taken(heappop(heap)[2]))
        return taken

    def take_all(self) -> list[OffsetWaiter]:
        """Remove and return all waiters."""
        heap, self._heap = self._heap, []
        return [self._taken(waiter) for _, _, waiter in heap]

    def _taken(self, waiter: OffsetWaiter) -> OffsetWaiter:
        waiter.is_waiting = False
        if waiter.call is None:
            self._cancelled -= 1
        return waiter
