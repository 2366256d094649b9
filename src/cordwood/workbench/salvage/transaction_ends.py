"""Ends of transactions whose markers may be lost with damaged batches.

The records of a transaction are committed, aborted or open by the next marker of their producer. If
offsets between the records and that marker are lost, another marker may be lost with them:

    an abort in the index        the records are aborted; the marker is rebuilt at its offset
    no other abort in the index  they are committed, if a marker or a snapshot ends the transaction;
                                 a commit marker is written to a lost offset if the next marker of
                                 the producer aborts a later transaction, or if there is none; the
                                 offset stays reported as lost unless the marker was certainly there
    open in a later snapshot     no marker was lost before that snapshot
    otherwise                    the records are doubtful: the end of their transaction is lost

`marker_bounds` has the proofs that a transaction has ended. A cleaner has removed the records of
aborted transactions, so records that it has left are committed if they have ended. But nothing
protects its checkpoint: these records are doubtful too.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from cordwood.core.types import NO_SEQUENCE
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRange, LostRanges
from cordwood.workbench.salvage.marker_bounds import MarkerBounds, marker_bounds
from cordwood.workbench.salvage.producer_events import ProducerEvents
from cordwood.workbench.salvage.transaction_evidence import TransactionEvidence

END_IS_LOST: Final = "its transaction's end is lost"
END_IS_DOUBTFUL: Final = "the marker of its transaction is doubtful"
_NOT_ABORTED: Final = "no index has an abort of it"
_CLEANED: Final = "a cleaner has left its records"


class RebuiltMarker(NamedTuple):
    """A marker to write at a lost offset, and the proof of it.

    A commit may have been at any of several lost offsets. Without `is_placed` a record may have
    been at this one, so it stays lost.
    """

    offset: int
    is_commit: bool
    event: TransactionEvent
    why: str
    is_placed: bool = True

    def encoded(self, *, after_epoch: int) -> bytearray:
        """Return the batch of the marker, which follows a batch of a leader epoch."""
        event = self.event
        fields = BatchFields(
            base_offset=self.offset,
            partition_leader_epoch=max(event.leader_epoch, after_epoch),
            producer_id=event.producer_id,
            producer_epoch=max(event.producer_epoch, 0),
            base_sequence=NO_SEQUENCE,
        )
        control = EndTransaction(self.is_commit, event.coordinator_epoch)
        return control_batch(control, fields, timestamp=event.timestamp)


class DoubtfulRecords(NamedTuple):
    """Records whose transaction is not known, both ends included, and the reason."""

    first: int
    last: int
    why: str


class TransactionEnds(NamedTuple):
    """The markers to write, in order, the doubtful records, and transactions without an end.

    `unended` has the first offsets of producers' transactions that stay open for lack of proof.
    """

    markers: list[RebuiltMarker]
    doubtful: list[DoubtfulRecords]
    unended: dict[int, int]


class _End(NamedTuple):
    """The end of a transaction: commit, abort, or None for open; `places` are for its marker.

    `is_shown` is set if the log ends the transaction so without another marker.
    """

    is_commit: bool | None
    is_shown: bool
    places: list[LostRange]
    why: str = ""
    is_certain: bool = True


def find_ends(
    events: ProducerEvents, lost: LostRanges, *, evidence: TransactionEvidence
) -> TransactionEnds:
    """Return the markers that have to be rebuilt, and the records whose ends are not known."""
    resolver = EndResolver(lost, evidence)
    for producer_id in events:
        resolver.resolve(events.of(producer_id))
    return resolver.ends()


class EndResolver:
    """The ends of all transactions, producer by producer."""

    def __init__(self, lost: LostRanges, evidence: TransactionEvidence) -> None:
        self._lost = lost
        self._evidence = evidence
        self._markers: dict[int, RebuiltMarker] = {}
        self._own: list[RebuiltMarker] = []
        self._doubtful: list[DoubtfulRecords] = []
        self._unended: dict[int, int] = {}

    def ends(self) -> TransactionEnds:
        """Return what was found."""
        markers = [self._markers[offset] for offset in sorted(self._markers)]
        return TransactionEnds(markers, sorted(self._doubtful), self._unended)

    def resolve(self, events: list[TransactionEvent]) -> None:
        """Find the end of each transactional batch of one producer."""
        self._own = []
        following: TransactionEvent | None = None
        rivals: list[tuple[TransactionEvent, TransactionEvent | None]] = []
        for event in reversed(events):
            if event.is_commit is not None:
                following = event
            elif not event.is_doubtful:
                rivals.append((event, following))
        coordinator_epoch = min((each.coordinator_epoch for each in events), default=0)
        # Aborts have their offsets; commits take what is left.
        for only_aborts in (True, False):
            for event, marker in reversed(rivals):
                end = self._end_of(event, marker)
                if (end is not None and end.is_commit is False) is only_aborts:
                    after = event._replace(coordinator_epoch=coordinator_epoch)
                    self._add(after, marker, end)

    def _add(
        self, event: TransactionEvent, marker: TransactionEvent | None, end: _End | None
    ) -> None:
        """Add the marker of an end, or doubtful records."""
        end = self._before_own_abort(event, marker, end)
        if end is not None and end.is_shown:
            if marker is not None and marker.is_doubtful and end.is_commit is not None:
                self._doubt(event, END_IS_DOUBTFUL)
            return
        if end is not None and self._rebuild(event, end):
            if not end.is_certain:
                self._doubt(event, END_IS_LOST)
            return
        self._doubt(event, END_IS_LOST)
        if marker is None:
            self._unended.setdefault(event.producer_id, event.first)

    def _before_own_abort(
        self, event: TransactionEvent, marker: TransactionEvent | None, end: _End | None
    ) -> _End | None:
        """Return the end of a transaction that another one follows, whose abort was rebuilt.

        The marker that the log shows does not end it any longer, so it needs its own.
        """
        if end is None or not end.is_shown or end.is_commit is False:
            return end
        limit = UNKNOWN_END if marker is None else marker.first
        aborts = [each.offset for each in self._own if event.last < each.offset < limit]
        if not aborts:
            return end
        entry = self._evidence.aborted_with(event.producer_id, min(aborts))
        start = min(aborts) if entry is None else entry.first_offset
        places = self._lost.between(event.last + 1, start)
        if not end.is_commit or not places:
            return None
        return _End(is_commit=True, is_shown=False, places=places, why=_NOT_ABORTED)

    def _doubt(self, event: TransactionEvent, why: str) -> None:
        self._doubtful.append(DoubtfulRecords(event.first, event.last, why))

    def _rebuild(self, event: TransactionEvent, end: _End) -> bool:
        """Return whether there is, or is now, a marker that ends the transaction."""
        assert end.is_commit is not None, "an open transaction needs no marker"
        ranges = [range(each.first, each.last + 1) for each in end.places]
        for own in self._own:
            if own.is_commit is end.is_commit and any(own.offset in each for each in ranges):
                return True
        for place in (each for each in end.places if each.is_free):
            offset = place.last
            while offset >= place.first and offset in self._markers:
                offset -= 1
            if offset >= place.first:
                is_placed = sum(map(len, ranges)) == 1
                self._markers[offset] = RebuiltMarker(
                    offset, end.is_commit, event, end.why, is_placed
                )
                self._own.append(self._markers[offset])
                return True
        return False

    # -- one batch

    def _end_of(self, event: TransactionEvent, marker: TransactionEvent | None) -> _End | None:
        """Return the end of the transaction that a batch is in, None if it is not known."""
        limit = None if marker is None else marker.first
        shown = None if marker is None else marker.is_commit
        lost = self._lost.between(event.last + 1, limit)
        evidence = self._evidence
        entry = evidence.aborted_with(event.producer_id, event.first) if lost else None
        if entry is not None:
            offset = entry.last_offset
            place = [LostRange(offset, offset, self._lost.is_free(offset))]
            is_shown = marker is not None and entry.last_offset == marker.first
            return _End(
                is_commit=False, is_shown=is_shown, places=place, why="the transaction index has it"
            )
        bounds = marker_bounds(event, marker, evidence=evidence, lost=self._lost)
        lost = [each for each in lost if each.last >= bounds.start]
        if not lost:
            is_other = bounds.end is not None
            return None if is_other else _End(shown, is_shown=True, places=[])
        if shown:
            known = all(map(evidence.covers, lost))
            return _End(is_commit=True, is_shown=True, places=[]) if known else None
        return self._hidden_commit(event, bounds)

    def _hidden_commit(self, event: TransactionEvent, bounds: MarkerBounds) -> _End | None:
        """Return the commit whose marker is lost, None if there may be another end.

        A cleaner has removed the records of aborted transactions, unless its checkpoint is wrong.
        """
        if bounds.end is None:
            return None
        lost = self._lost.between(bounds.start, bounds.end)
        if lost and all(map(self._evidence.covers, lost)):
            return _End(is_commit=True, is_shown=False, places=lost, why=_NOT_ABORTED)
        if lost and event.last < self._lost.cleaned_to:
            return _End(is_commit=True, is_shown=False, places=lost, why=_CLEANED, is_certain=False)
        return None


def doubtful_producers(
    events: ProducerEvents, markers: Iterable[RebuiltMarker]
) -> Callable[[int, int], bool]:
    """Return a predicate: whether a producer has no marker behind an offset.

    A doubtful batch without one would keep its transaction open for ever.
    """
    last = {
        producer_id: max(
            (each.first for each in events.of(producer_id) if each.is_commit is not None),
            default=-1,
        )
        for producer_id in events
    }
    for marker in markers:
        producer_id = marker.event.producer_id
        last[producer_id] = max(last.get(producer_id, -1), marker.offset)
    return lambda producer_id, offset: last.get(producer_id, -1) < offset
