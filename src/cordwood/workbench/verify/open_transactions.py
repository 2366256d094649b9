"""Transactions that are open at an offset of a log (Kafka: `ProducerStateManager.ongoingTxns`)."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple


class SeenTransaction(NamedTuple):
    """The first and the last offset of a transaction's data, as far as the log has them."""

    first_offset: int
    last_offset: int


class OpenTransactions:
    """The open transactions by producer, and the first offset of the earliest one."""

    __slots__ = ("_earliest", "_firsts", "_lasts")

    def __init__(self) -> None:
        self._firsts: dict[int, int] = {}
        self._lasts: dict[int, int] = {}
        #: A heap of first offsets and producers; ended transactions are removed when on top.
        self._earliest: list[tuple[int, int]] = []

    def add(self, producer_id: int, *, first_offset: int, last_offset: int) -> None:
        """Begin the transaction of a producer, or extend it."""
        if producer_id not in self._firsts:
            self._firsts[producer_id] = first_offset
            heappush(self._earliest, (first_offset, producer_id))
        self._lasts[producer_id] = last_offset

    def end(self, producer_id: int) -> SeenTransaction | None:
        """Remove the transaction of a producer; None if it has none."""
        first_offset = self._firsts.pop(producer_id, None)
        if first_offset is None:
            return None
        return SeenTransaction(first_offset, self._lasts.pop(producer_id))

    def clear(self) -> None:
        """Remove all transactions."""
        self._firsts.clear()
        self._lasts.clear()
        self._earliest.clear()

    def forget_before(self, offset: int) -> None:
        """Remove the transactions without data from an offset on."""
        for producer_id in [each for each, last in self._lasts.items() if last < offset]:
            self.end(producer_id)

    def stable_offset(self, next_offset: int) -> int:
        """Return the first offset of the earliest transaction, `next_offset` without one."""
        heap = self._earliest
        while heap and self._firsts.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else next_offset

    def first_offsets(self) -> Iterator[tuple[int, int]]:
        """Yield each producer with the first offset of its transaction."""
        yield from self._firsts.items()

    def visible(self, log_start: int) -> Iterator[tuple[int, int]]:
        """Yield those that have data from the log start on."""
        for producer_id, first_offset in self._firsts.items():
            if self._lasts[producer_id] >= log_start:
                yield producer_id, first_offset

    def __contains__(self, producer_id: int) -> bool:
        """Return whether a producer has an open transaction."""
        return producer_id in self._firsts
