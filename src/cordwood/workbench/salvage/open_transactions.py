"""Transactions that were certainly open at lost offsets, which bound last stable offsets there.

An entry of a transaction index has the last stable offset behind its marker: the first offset of
the oldest other transaction that was open (Kafka: `ProducerStateManager.lastStableOffset`). An
entry with a higher one is false.

Data in the log keeps its transaction open up to the next marker of the producer, or up to the first
offset that may have been one. Other entries of indexes, and snapshots, show open transactions too.
"""

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.salvage.lost_ranges import LostRanges
from cordwood.workbench.salvage.producer_events import ProducerEvents


class OpenSpan(NamedTuple):
    """Offsets at which a transaction was open, both ends included."""

    first: int
    last: int
    producer_id: int


def highest_stable(entries: Iterable[AbortedTxn], opened: Iterable[OpenSpan]) -> Mapping[int, int]:
    """Return the highest possible last stable offset of entries, by the offset of their marker."""
    found: dict[int, int] = {}
    waiting = sorted(opened, reverse=True)
    due: list[OpenSpan] = []
    for entry in sorted(entries, key=lambda each: each.last_offset):
        offset = entry.last_offset
        while waiting and waiting[-1].first < offset:
            heappush(due, waiting.pop())
        own: list[OpenSpan] = []
        first = _first_at(due, offset)
        while first is not None and first.producer_id == entry.producer_id:
            own.append(heappop(due))
            first = _first_at(due, offset)
        for each in own:
            heappush(due, each)
        found[offset] = offset + 1 if first is None else first.first
    return found


def _first_at(due: list[OpenSpan], offset: int) -> OpenSpan | None:
    """Return the first span that an offset is in; those before it are removed."""
    while due and due[0].last < offset:
        heappop(due)
    return due[0] if due else None


def spans_in_log(producers: ProducerEvents, lost: LostRanges) -> Iterator[OpenSpan]:
    """Yield the transactions that are open by the batches of the log."""
    for producer_id in producers:
        first, end = -1, -1
        for event in producers.of(producer_id):
            if first >= 0 and (event.is_commit is not None or end < event.first):
                yield OpenSpan(first, min(end, event.first), producer_id)
                first = -1
            if event.is_commit is None and not event.is_doubtful:
                first = event.first if first < 0 else first
                end = lost.next_lack(event.last + 1)
        if first >= 0:
            yield OpenSpan(first, end, producer_id)


def spans_beside_log(
    entries: Iterable[AbortedTxn], snapshots: Mapping[int, Mapping[int, int]]
) -> Iterator[OpenSpan]:
    """Yield the transactions that are open by entries of indexes and by snapshots."""
    for entry in entries:
        yield OpenSpan(entry.first_offset, entry.last_offset, entry.producer_id)
    for offset, opened in snapshots.items():
        for producer_id, first in opened.items():
            yield OpenSpan(first, offset - 1, producer_id)
