"""Transactional batches and markers of a new log, by producer."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from cordwood.workbench.salvage.batch_run import TransactionEvent


class ProducerEvents:
    """The transactional batches and markers of each producer in the new log, in order."""

    def __init__(self, events: Iterable[TransactionEvent]) -> None:
        self._by_producer: dict[int, list[TransactionEvent]] = {}
        for event in events:
            self._by_producer.setdefault(event.producer_id, []).append(event)
        self._aborts = sorted(
            after.first
            for events in self._by_producer.values()
            for before, after in pairwise(events)
            if after.is_commit is False and before.is_commit is None and not after.is_doubtful
        )

    def aborts(self, first: int, last: int) -> list[int]:
        """Return the abort markers behind data of their producers, in a range of offsets."""
        return self._aborts[bisect_left(self._aborts, first) : bisect_right(self._aborts, last)]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_producer)

    def of(self, producer_id: int) -> list[TransactionEvent]:
        """Return the events of a producer."""
        return self._by_producer.get(producer_id, [])

    def within(self, producer_id: int, first: int, *, last: int) -> Sequence[TransactionEvent]:
        """Return the events of a producer that begin in a range of offsets."""
        events = self.of(producer_id)
        start = bisect_left(events, first, key=_first_of)
        return events[start : bisect_right(events, last, key=_first_of)]

    def around(self, producer_id: int, offset: int) -> Sequence[TransactionEvent]:
        """Return the last event of a producer before an offset, and the first one from there on."""
        events = self.of(producer_id)
        at = bisect_left(events, offset, key=_first_of)
        return events[max(at - 1, 0) : at + 1]


def _first_of(event: TransactionEvent) -> int:
    return event.first
