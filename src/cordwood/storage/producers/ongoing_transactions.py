"""Ongoing and unreplicated transactions of one log (Kafka: `ProducerStateManager.ongoingTxns`).

    open          from the first record of a producer's transaction to its marker
    unreplicated  from the marker until the high watermark has passed it

Kafka keeps both kinds as `TxnMetadata`. The smallest first offset of either kind is the first
unstable offset: read_committed readers do not see beyond it. A marker completes the open
transaction of its producer; a marker without an open transaction changes nothing.
"""

from collections import deque
from typing import NamedTuple


class CompletedTxn(NamedTuple):
    """A transaction that the marker at `last_offset` has ended (Kafka: `CompletedTxn`)."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class OngoingTransactions:
    """Open and unreplicated transactions, by first offset.

    Callers start transactions in the order of their offsets.
    """

    __slots__ = ("_open", "_unreplicated")

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._unreplicated: deque[CompletedTxn] = deque()

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return next(iter(self._open), None)

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
        """Open a transaction: its producer has written the first record."""
        self._open[first_offset] = producer_id

    def last_stable_offset_of(self, completed: CompletedTxn) -> int:
        """Return the last stable offset after a transaction, which is still open here, completes.

        Kafka: `ProducerStateManager.lastStableOffset`.
        """
        # The oldest open transaction of another producer decides, whether it began before or after.
        for first_offset, producer_id in self._open.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTxn) -> None:
        """Move a transaction from open to unreplicated; an abort is indexed by now."""
        assert completed.first_offset in self._open, f"{completed} was never started"
        del self._open[completed.first_offset]
        waiting = self._unreplicated
        # Markers are replicated in the order of their offsets. An earlier marker whose transaction
        # began later is replicated first and is never the smallest: it can be dropped. The first
        # offsets that remain increase, so the first one is the smallest.
        while waiting and waiting[-1].first_offset > completed.first_offset:
            waiting.pop()
        waiting.append(completed)

    def forget_below(self, offset: int) -> None:
        """Remove the transactions whose markers are below `offset`: replicated, or deleted."""
        while self._unreplicated and self._unreplicated[0].last_offset < offset:
            self._unreplicated.popleft()

    def clear(self) -> None:
        self._open.clear()
        self._unreplicated.clear()
