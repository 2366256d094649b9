"""Markers of damaged batches, compared with the entries of transaction indexes.

A damaged batch of another size than a marker's contradicts an index that has an abort there. A
damaged marker does so if it is a commit where the index has an abort, or an abort with data before
it that the index has not. So does a marker of the same producer inside of a transaction. Its
producer id may be damaged: one that no other batch of the log has may be that of any producer.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from operator import attrgetter
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.salvage.damaged_markers import DamagedMarker
from cordwood.workbench.salvage.producer_events import ProducerEvents

_FIRST: Final = attrgetter("first")
_LAST_OFFSET: Final = attrgetter("last_offset")


class LostMarker(NamedTuple):
    """A damaged marker, and the offsets at which it may have been."""

    marker: DamagedMarker
    first: int
    last: int

    def may_be_of(self, producer_id: int, producers: ProducerEvents) -> bool:
        """Return whether it may be the marker of a producer."""
        own = self.marker.producer_id
        return own is None or own == producer_id or not producers.of(own)

    def is_commit_of(self, producer_id: int, producers: ProducerEvents) -> bool | None:
        """Return whether it is a commit as one of a producer, None if that is not readable."""
        known = [each.producer_epoch for each in producers.around(producer_id, self.first)]
        markers = (each for each in producers.of(producer_id) if each.is_commit is not None)
        proven = self.marker.proven_type(
            producer_id,
            # A marker of transactions v2 has the next epoch.
            epochs={each + more for each in known for more in (0, 1)},
            coordinator_epochs={0, *(each.coordinator_epoch for each in markers)},
        )
        return self.marker.is_commit if proven is None else proven


class LostMarkers:
    """The damaged markers of a log, by offset; and other damaged batches.

    The first and the last offset of those are in `others`.
    """

    def __init__(
        self, markers: Iterable[LostMarker] = (), *, others: Iterable[tuple[int, int]] = ()
    ) -> None:
        self._markers = sorted(markers, key=_FIRST)
        #: The last offset of each marker and those before it.
        self._reach = list(accumulate((each.last for each in self._markers), max))
        self._others = sorted(others)

    def has_other_batch(self, offset: int) -> bool:
        """Return whether a damaged batch at an offset is certainly not a marker."""
        at = bisect_right(self._others, (offset, INT64_MAX))
        return at > 0 and self._others[at - 1][1] >= offset

    def has_commit(self, entry: AbortedTxn, producers: ProducerEvents) -> bool:
        """Return whether the marker of an entry may be a damaged commit."""
        producer_id, offset = entry.producer_id, entry.last_offset
        return any(
            each.may_be_of(producer_id, producers) and each.is_commit_of(producer_id, producers)
            for each in self._at(offset)
        )

    def has_earlier_end(self, entry: AbortedTxn) -> bool:
        """Return whether a damaged marker of the producer ends the transaction before its entry."""
        start = bisect_left(self._markers, entry.first_offset, key=_FIRST)
        return any(
            each.marker.producer_id == entry.producer_id and each.last < entry.last_offset
            for each in takewhile(
                lambda each: each.first < entry.last_offset, self._markers[start:]
            )
        )

    def has_other_abort(
        self, entries: Sequence[AbortedTxn], producers: ProducerEvents, *, covered: tuple[int, int]
    ) -> bool:
        """Return whether an abort of a transaction is not in the index of the `covered` offsets.

        The entries of the index ascend.
        """
        first, last = covered
        start = bisect_left(self._markers, first, key=_FIRST)
        return any(
            each.last <= last
            and not _is_in(entries, each, producers)
            and _ends_data(each, producers)
            for each in takewhile(lambda each: each.first <= last, self._markers[start:])
        )

    def _at(self, offset: int) -> Iterator[LostMarker]:
        """Yield the markers that may have been at an offset."""
        at = bisect_right(self._markers, offset, key=_FIRST)
        while at and self._reach[at - 1] >= offset:
            at -= 1
            if self._markers[at].last >= offset:
                yield self._markers[at]


def _is_in(entries: Sequence[AbortedTxn], lost: LostMarker, producers: ProducerEvents) -> bool:
    """Return whether a damaged marker may be that of an entry."""
    start = bisect_left(entries, lost.first, key=_LAST_OFFSET)
    stop = bisect_right(entries, lost.last, key=_LAST_OFFSET)
    return any(lost.may_be_of(each.producer_id, producers) for each in entries[start:stop])


def _ends_data(lost: LostMarker, producers: ProducerEvents) -> bool:
    """Return whether a damaged marker is an abort behind data of its producer."""
    producer_id = lost.marker.producer_id
    if producer_id is None or not producers.of(producer_id):
        return lost.marker.is_commit is False
    before = producers.within(producer_id, 0, last=lost.first - 1)
    is_open = bool(before) and before[-1].is_commit is None
    return is_open and lost.is_commit_of(producer_id, producers) is False
