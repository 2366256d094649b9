"""Which transactions of a log are open, and which are decided but not yet on all replicas.

    open          from the first record of a producer's transaction to its marker
    unreplicated  from the marker until the high watermark has passed it

The first offset of either kind is unstable: read_committed readers do not see beyond the smallest
one. A marker that ends an open transaction completes it; one that ends nothing changes nothing.

Markers come, and are replicated, in the order of their offsets. So of the unreplicated transactions
those are passed over that a later marker's transaction begins before: they are gone first, and
never the smallest. What is left increases, and the first of it is the smallest.
"""

from collections import deque
from typing import NamedTuple


class CompletedTransaction(NamedTuple):
    """A transaction that a marker, at `last_offset`, has ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class Transactions:
    """Both kinds, by the first offset. Open ones are started in the order of their offsets."""

    __slots__ = ("_open", "_unreplicated")

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._unreplicated: deque[CompletedTransaction] = deque()

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return next(iter(self._open), None)

    @property
    def oldest_producer_id(self) -> int | None:
        """Who has the oldest open transaction."""
        return next(iter(self._open.values()), None)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is open or unreplicated."""
        undecided = self.first_undecided_offset
        if not self._unreplicated:
            return undecided
        unreplicated = self._unreplicated[0].first_offset
        return unreplicated if undecided is None else min(undecided, unreplicated)

    @property
    def has_unreplicated(self) -> bool:
        return bool(self._unreplicated)

    def start(self, producer_id: int, first_offset: int) -> None:
        """A producer has written the first record of a transaction."""
        self._open[first_offset] = producer_id

    def last_stable_offset_of(self, completed: CompletedTransaction) -> int:
        """Return the last stable offset that holds once a transaction, still open here, is over.

        What matters is the next producer's transaction, be it before or behind this one.
        """
        for first_offset, producer_id in self._open.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """A marker has been written, and the transaction index knows of it if it has to."""
        assert completed.first_offset in self._open, f"{completed} was never started"
        del self._open[completed.first_offset]
        waiting = self._unreplicated
        while waiting and waiting[-1].first_offset > completed.first_offset:
            waiting.pop()
        waiting.append(completed)

    def forget_below(self, offset: int) -> None:
        """Markers below `offset` are on all replicas, or below the start of the log."""
        while self._unreplicated and self._unreplicated[0].last_offset < offset:
            self._unreplicated.popleft()

    def clear(self) -> None:
        self._open.clear()
        self._unreplicated.clear()
