"""Facts about transactions in the files next to a damaged log.

    .txnindex   each aborted transaction: producer, first offset, offset of its marker
    .snapshot   at its offset, the first offset of each producer's open transaction

A snapshot has a checksum. An index has none, so it counts only if neither the log, nor a damaged
commit marker, nor a snapshot contradicts one of its entries. It may have lost entries at its end:
it proves that a range has no other abort marker only if it has an entry behind the range whose
marker is in the log.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.ports import FileKind, Files
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)
from cordwood.workbench.salvage.batch_run import TransactionEvent

#: The end of a range of lost offsets whose end is unknown.
UNKNOWN_END: Final = INT64_MAX


class LostRange(NamedTuple):
    """Lost offsets, both ends included; if they are not free, a doubtful batch stands there."""

    first: int
    last: int
    is_free: bool = True


class LostCommit(NamedTuple):
    """A commit marker of a damaged batch, and the offsets at which it may have been."""

    producer_id: int
    first: int
    last: int


class LostRanges:
    """The lost ranges of a log, in order; below `cleaned_to` records may be missing too.

    `commits` are markers that were in the lost ranges.
    """

    def __init__(
        self,
        ranges: Iterable[LostRange],
        *,
        cleaned_to: int = 0,
        commits: Iterable[LostCommit] = (),
    ) -> None:
        self._cleaned_to = cleaned_to
        self._commits: dict[int, list[LostCommit]] = {}
        for each in commits:
            self._commits.setdefault(each.producer_id, []).append(each)
        self._ranges = sorted(ranges)
        self._lasts = [each.last for each in self._ranges]

    @property
    def first(self) -> int | None:
        """The first lost offset."""
        return self._ranges[0].first if self._ranges else None

    def between(self, first: int, end: int | None) -> list[LostRange]:
        """Return the parts of the ranges from an offset up to another one, which is excluded."""
        found = []
        limit = UNKNOWN_END if end is None else end - 1
        for each in self._ranges[bisect_left(self._lasts, first) :]:
            if each.first > limit:
                break
            first_lost, last_lost = max(each.first, first), min(each.last, limit)
            found.append(LostRange(first_lost, last_lost, each.is_free))
        return found

    def has(self, offset: int) -> bool:
        """Return whether an offset is lost."""
        return bool(self.between(offset, offset + 1))

    def may_have_commit(self, producer_id: int, offset: int) -> bool:
        """Return whether a lost offset may be that of a producer's commit marker."""
        commits = self._commits.get(producer_id, [])
        return any(each.first <= offset <= each.last for each in commits)

    def is_free(self, offset: int) -> bool:
        """Return whether a marker can be written to a lost offset."""
        return all(each.is_free for each in self.between(offset, offset + 1))

    def may_lack(self, offset: int) -> bool:
        """Return whether an offset is lost, or may have been removed by a cleaner or retention."""
        return offset < self._cleaned_to or self.has(offset)

    def may_lack_between(self, first: int, end: int) -> bool:
        """Return whether one of some offsets, which are in no batch, may have been a marker."""
        return bool(self.between(first, end)) or first < min(end, self._cleaned_to)


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


class ComparedIndex(NamedTuple):
    """An index after the comparison: the proven entries, and the markers of the others.

    From `first` up to `reach` the index has an entry for each abort marker.
    """

    proven: list[AbortedTxn]
    unproven: list[int]
    first: int
    reach: int


class TransactionEvidence:
    """Proofs about the transactions of a damaged log, from its indexes and snapshots."""

    def __init__(
        self,
        indexes: Iterable[ComparedIndex],
        snapshots: Mapping[int, Mapping[int, int]],
    ) -> None:
        self._aborted: dict[int, list[AbortedTxn]] = {}
        self._indexes = list(indexes)
        aborted = (entry for index in self._indexes for entry in index.proven)
        for each in sorted(aborted, key=lambda entry: entry.last_offset):
            self._aborted.setdefault(each.producer_id, []).append(each)
        self._snapshots = sorted(snapshots.items())

    def aborted_with(self, producer_id: int, offset: int) -> AbortedTxn | None:
        """Return the aborted transaction of a producer that an offset is in."""
        entries = self._aborted.get(producer_id, [])
        at = bisect_left(entries, offset, key=lambda entry: entry.last_offset)
        found = entries[at] if at < len(entries) else None
        return found if found is not None and found.first_offset <= offset else None

    def covers(self, lost: LostRange) -> bool:
        """Return whether each abort marker in a lost range is in an index."""
        return any(
            each.first <= lost.first
            and lost.last <= each.reach
            and not any(lost.first <= marker <= lost.last for marker in each.unproven)
            for each in self._indexes
        )

    def openings(
        self, producer_id: int, first: int, *, end: int | None
    ) -> Iterator[tuple[int, int | None]]:
        """Yield the snapshots from an offset up to another, with a producer's open transaction."""
        limit = UNKNOWN_END if end is None else end
        start = bisect_left(self._snapshots, first, key=lambda each: each[0])
        for offset, opened in self._snapshots[start:]:
            if offset > limit:
                break
            yield offset, opened.get(producer_id)


class _IndexFile(NamedTuple):
    """The entries of an index, and the offsets of its segment; `last` is the last one."""

    entries: list[AbortedTxn]
    first: int
    last: int


def read_evidence(
    files: Files, source: str, *, events: ProducerEvents, lost: LostRanges, notes: list[str]
) -> TransactionEvidence:
    """Read the transaction indexes and snapshots of a directory, and compare them with the log."""
    listed = [names.parse_segment_name(name) for name in files.list(source, FileKind.FILE)]
    known = [each for each in listed if each is not None and not each.suffix]
    bases = sorted({each.base_offset for each in known if each.extension == names.LOG})
    snapshots = {
        int(each.base_offset): opened
        for each in known
        if each.extension == names.SNAPSHOT
        and lost.first is not None
        and each.base_offset > lost.first
        and (opened := _open_transactions(files, source, each, set(events))) is not None
    }
    in_order = sorted(snapshots.items())
    compared: list[ComparedIndex] = []
    for each in known:
        if each.extension != names.TXN_INDEX:
            continue
        name = names.segment_name(each.base_offset, names.TXN_INDEX)
        at = bisect_right(bases, each.base_offset)
        reach = each.base_offset + INT32_MAX
        last = min(reach, bases[at] - 1) if at < len(bases) else reach
        index = _IndexFile([], each.base_offset, last)
        try:
            index.entries.extend(_entries(files, f"{source}/{name}", each.base_offset))
            for entry in index.entries:
                _check_snapshots(entry, in_order, producers=events)
            compared.append(_compared(index, events, lost))
        except (DamagedFileError, ValueError) as error:
            notes.append(f"{source}/{name} proves nothing about transactions: {error}")
    return TransactionEvidence(compared, snapshots)


def _entries(files: Files, path: str, base_offset: int) -> list[AbortedTxn]:
    data = read_whole(files, path)
    if len(data) % ABORTED_TXN_SIZE:
        raise ValueError("it ends inside an entry")
    return list(TransactionIndex(base_offset, InMemoryEntries(data, ABORTED_TXN_SIZE)).read())


def _compared(index: _IndexFile, events: ProducerEvents, lost: LostRanges) -> ComparedIndex:
    """Compare the entries of an index with the log; ValueError if the log contradicts one.

    An entry without its marker in the log is proven if its marker is lost, and the log has records
    of its transaction, from its first offset on.
    """
    proven: list[AbortedTxn] = []
    unproven: list[int] = []
    reach, last = index.first - 1, -1
    for entry in index.entries:
        _check_fields(entry, index, after=last)
        last = entry.last_offset
        within = events.within(entry.producer_id, entry.first_offset, last=last)
        ends = [each for each in within if each.is_commit is not None]
        if any(each.first < last or each.is_commit for each in ends):
            raise ValueError(f"the log has another marker before offset {last}")
        if not ends and not lost.has(last):
            raise ValueError(f"the log has no abort marker at offset {last}")
        if not ends and lost.may_have_commit(entry.producer_id, last):
            raise ValueError(f"the damaged marker at offset {last} is that of a commit")
        if _is_open_before(entry, events, lost):
            raise ValueError(f"the transaction of offset {entry.first_offset} began before it")
        if ends and not ends[-1].is_doubtful:
            reach = last
        is_begun = bool(within) and (
            within[0].first == entry.first_offset or lost.may_lack(entry.first_offset)
        )
        if ends and not is_begun:
            raise ValueError(f"no transaction begins at offset {entry.first_offset}")
        if is_begun:
            proven.append(entry)
        else:
            unproven.append(last)
    if set(events.aborts(index.first, reach)) - {each.last_offset for each in index.entries}:
        raise ValueError("it lacks an abort marker of the log")
    return ComparedIndex(proven, unproven, index.first, reach)


def _check_fields(entry: AbortedTxn, index: _IndexFile, *, after: int) -> None:
    is_ordered = after < entry.last_offset and entry.first_offset <= entry.last_offset
    is_inside = index.first <= entry.last_offset <= index.last
    is_stable = 0 <= entry.last_stable_offset <= entry.last_offset + 1
    if not (is_ordered and is_inside and is_stable and entry.producer_id >= 0):
        raise ValueError(f"the entry {tuple(entry)} is impossible")


def _check_snapshots(
    entry: AbortedTxn,
    snapshots: Sequence[tuple[int, Mapping[int, int]]],
    *,
    producers: ProducerEvents,
) -> None:
    """Compare an entry with snapshots; ValueError if one has another open transaction.

    If the first and the last one inside of a transaction have it, so have those between them.
    """
    if not producers.of(entry.producer_id):
        return
    start, stop = (
        bisect_right(snapshots, offset, key=itemgetter(0))
        for offset in (entry.first_offset, entry.last_offset)
    )
    inside = {start, stop - 1} if start < stop else set()
    for offset, opened in (snapshots[at] for at in (*inside, stop) if at < len(snapshots)):
        first = opened.get(entry.producer_id)
        if offset <= entry.last_offset:
            is_right = first == entry.first_offset
        else:
            is_right = first is None or first > entry.last_offset
        if not is_right:
            raise ValueError(
                f"the snapshot at offset {offset} contradicts the entry of {entry.last_offset}"
            )


def _is_open_before(entry: AbortedTxn, events: ProducerEvents, lost: LostRanges) -> bool:
    """Return whether the producer's last batch before an entry belongs to the same transaction."""
    before = events.within(entry.producer_id, 0, last=entry.first_offset - 1)
    if not before or before[-1].is_commit is not None:
        return False
    is_merged = before[-1].last >= entry.first_offset
    return is_merged or not lost.may_lack_between(before[-1].last + 1, entry.first_offset)


def _open_transactions(
    files: Files, source: str, name: names.SegmentName, producers: Collection[int]
) -> dict[int, int] | None:
    """Return the first offset of each open transaction in a snapshot; None if it is damaged."""
    path = f"{source}/{names.segment_name(name.base_offset, names.SNAPSHOT)}"
    try:
        states = decode_snapshot(read_whole(files, path), path=path)
    except (DamagedFileError, BytesError):
        return None
    return {
        each.producer_id: each.transaction_first_offset
        for each in states
        if each.has_transaction and each.producer_id in producers
    }


def _first_of(event: TransactionEvent) -> int:
    return event.first
