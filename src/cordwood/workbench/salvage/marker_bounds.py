"""Offsets between which the marker of a transaction was, although the log has no marker there.

    snapshot           the marker is behind the last one that has the transaction open, and before
                       the first one behind it that has not
    transaction index  if the abort marker that follows is that of a later transaction, the marker
                       is before the first offset of that one
    cleaner            it stops before the first open transaction, so those behind which it has
                       worked have markers

A cleaner removes no marker before the data of its transaction. So if the data are left, and no
offset between the bounds is lost, a file with the marker is missing: a cleaner does not explain
the gaps between the bounds.
"""

from typing import NamedTuple

from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRange, LostRanges
from cordwood.workbench.salvage.producer_events import ProducerEvents
from cordwood.workbench.salvage.transaction_evidence import TransactionEvidence


class MarkerBounds(NamedTuple):
    """The marker of a transaction is not before `start`, and before `end`.

    If `end` is None, there may be no marker but the one that follows in the log, if any.
    """

    start: int
    end: int | None


def marker_bounds(
    event: TransactionEvent,
    marker: TransactionEvent | None,
    *,
    evidence: TransactionEvidence,
    lost: LostRanges,
) -> MarkerBounds:
    """Return the bounds of the marker that belongs to data; `marker` is the next in the log."""
    start, end = event.last + 1, None
    limit = UNKNOWN_END if marker is None else marker.first
    for offset, first in evidence.openings(event.producer_id, start, end=limit):
        if first is None or first > event.first:
            end = offset
            break
        start = offset
    if marker is None:
        is_ended = event.last < lost.cleaned_to and lost.may_hide(start, UNKNOWN_END)
        return MarkerBounds(start, UNKNOWN_END if end is None and is_ended else end)
    entry = evidence.aborted_with(event.producer_id, marker.first)
    if entry is not None and marker.is_commit is False and entry.first_offset > event.last:
        end = entry.first_offset if end is None else min(end, entry.first_offset)
    return MarkerBounds(start, end)


def gaps_with_markers(
    events: ProducerEvents, lost: LostRanges, *, evidence: TransactionEvidence
) -> set[LostRange]:
    """Return the gaps that a cleaner does not explain: the marker of kept data was there."""
    found: set[LostRange] = set()
    for producer_id in events:
        marker: TransactionEvent | None = None
        for event in reversed(events.of(producer_id)):
            if event.is_commit is not None:
                marker = event
                continue
            limit = UNKNOWN_END if marker is None else marker.first
            if event.is_doubtful or not lost.gaps_between(event.last + 1, limit):
                continue
            bounds = marker_bounds(event, marker, evidence=evidence, lost=lost)
            if bounds.end is not None and not lost.between(bounds.start, bounds.end):
                found.update(lost.gaps_between(bounds.start, bounds.end))
    return found
