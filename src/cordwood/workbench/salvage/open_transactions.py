"""Transactions that were certainly open at lost offsets, which bound last stable offsets there.

An entry of a transaction index has the last stable offset behind its marker: the first offset of
the oldest other transaction that was open (Kafka: `ProducerStateManager.lastStableOffset`). An
entry with a higher one is false.

Data in the log keeps its transaction open up to the next marker of the producer, or up to the first
offset that may have been one.
"""

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRanges
from cordwood.workbench.salvage.producer_events import ProducerEvents


class _OpenSpan(NamedTuple):
    """Offsets at which a transaction was open, both ends included."""

    first: int
    last: int
    producer_id: int


def highest_stable(
    entries: Iterable[AbortedTxn], producers: ProducerEvents, *, lost: LostRanges
) -> Mapping[int, int]:
    """Return the highest possible last stable offset of entries, by the offset of their marker."""
    found: dict[int, int] = {}
    waiting = sorted(_open_spans(producers, lost), reverse=True)
    due: list[_OpenSpan] = []
    for entry in sorted(entries, key=lambda each: each.last_offset):
        offset = entry.last_offset
        while waiting and waiting[-1].first < offset:
            heappush(due, waiting.pop())
        first = _first_at(due, offset)
        if first is not None and first.producer_id == entry.producer_id:
            own = heappop(due)
            first = _first_at(due, offset)
            heappush(due, own)
        found[offset] = offset + 1 if first is None else first.first
    return found


def _first_at(due: list[_OpenSpan], offset: int) -> _OpenSpan | None:
    """Return the first span that an offset is in; those before it are removed."""
    while due and due[0].last < offset:
        heappop(due)
    return due[0] if due else None


def _open_spans(producers: ProducerEvents, lost: LostRanges) -> Iterator[_OpenSpan]:
    for producer_id in producers:
        first, end = -1, -1
        for event in producers.of(producer_id):
            if first >= 0 and (event.is_commit is not None or end < event.first):
                yield _OpenSpan(first, min(end, event.first), producer_id)
                first = -1
            if event.is_commit is None and not event.is_doubtful:
                first = event.first if first < 0 else first
                end = lost.next_lack(event.last + 1)
        if first >= 0:
            yield _OpenSpan(first, min(end, UNKNOWN_END), producer_id)
