"""Facts about transactions in the files next to a damaged log.

    .txnindex   each aborted transaction: producer, first offset, offset of its marker
    .snapshot   at its offset, the first offset of each producer's open transaction, and the offsets
                of each producer's last batch of data

A snapshot has a checksum. An index has none, so it counts only if neither the log, nor a damaged
marker, nor a snapshot contradicts it. It may have lost entries at its end:
it proves that a range has no other abort marker only if it has an entry behind the range whose
marker is in the log.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.ports import FileKind, Files
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)
from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRange, LostRanges
from cordwood.workbench.salvage.open_transactions import (
    highest_stable,
    spans_beside_log,
    spans_in_log,
)
from cordwood.workbench.salvage.producer_events import ProducerEvents

_NO_PROOF: Final = " proves nothing about transactions: "


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
    indexes = _read_indexes(files, source, known, notes=notes)
    start = _first_needed(indexes.values(), lost)
    entries = [entry for index in indexes.values() for entry in index.entries]
    gone = [entry for entry in entries if lost.has(entry.last_offset)]
    offsets = sorted(entry.last_offset for entry in gone)
    snapshots: dict[int, dict[int, int]] = {}
    data: set[int] = set()
    for each in known:
        if each.extension == names.SNAPSHOT and start is not None and each.base_offset > start:
            states = _states_in(files, source, each)
            if states is not None:
                snapshots[int(each.base_offset)] = _open_transactions(states, set(events))
                data.update(_data_at(states, offsets))
    in_order = sorted(snapshots.items())
    compared: list[ComparedIndex] = []
    left = [entry for entry in entries if not lost.has(entry.last_offset)] if gone else []
    beside = spans_beside_log(left, snapshots)
    stable = highest_stable(gone, [*spans_in_log(events, lost), *beside]) if gone else {}
    for path, index in indexes.items():
        try:
            for entry in index.entries:
                _check_data(entry, data)
                _check_stable(entry, stable)
                _check_snapshots(entry, in_order, producers=events)
            compared.append(_compared(index, events, lost))
        except ValueError as error:
            notes.append(f"{path}{_NO_PROOF}{error}")
    return TransactionEvidence(compared, snapshots)


def _read_indexes(
    files: Files, source: str, known: Sequence[names.SegmentName], *, notes: list[str]
) -> dict[str, _IndexFile]:
    """Return the readable indexes by path."""
    bases = sorted({each.base_offset for each in known if each.extension == names.LOG})
    found = {}
    for each in known:
        if each.extension != names.TXN_INDEX:
            continue
        path = f"{source}/{names.segment_name(each.base_offset, names.TXN_INDEX)}"
        at = bisect_right(bases, each.base_offset)
        reach = each.base_offset + INT32_MAX
        last = min(reach, bases[at] - 1) if at < len(bases) else reach
        try:
            entries = _entries(files, path, each.base_offset)
            found[path] = _IndexFile(entries, each.base_offset, last)
        except (DamagedFileError, ValueError) as error:
            notes.append(f"{path}{_NO_PROOF}{error}")
    return found


def _first_needed(indexes: Iterable[_IndexFile], lost: LostRanges) -> int | None:
    """Return the offset behind which snapshots may decide about lost markers, None for none."""
    first = lost.first_missing
    if first is None:
        return None
    entries = (entry for index in indexes for entry in index.entries)
    begins = (entry.first_offset for entry in entries if lost.has(entry.last_offset))
    return min([first, *begins])


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
        if not ends:
            _check_lost_marker(entry, events, lost)
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
    if lost.markers.has_other_abort(index.entries, events, covered=(index.first, reach)):
        raise ValueError("it lacks a damaged abort marker")
    return ComparedIndex(proven, unproven, index.first, reach)


def _check_fields(entry: AbortedTxn, index: _IndexFile, *, after: int) -> None:
    is_ordered = after < entry.last_offset and entry.first_offset <= entry.last_offset
    is_inside = index.first <= entry.last_offset <= index.last
    is_stable = 0 <= entry.last_stable_offset <= entry.last_offset + 1
    if not (is_ordered and is_inside and is_stable and entry.producer_id >= 0):
        raise ValueError(f"the entry {tuple(entry)} is impossible")


def _check_lost_marker(entry: AbortedTxn, events: ProducerEvents, lost: LostRanges) -> None:
    """Compare an entry with what is left of its marker; ValueError if that contradicts it."""
    if not lost.has(entry.last_offset):
        raise ValueError(f"the log has no abort marker at offset {entry.last_offset}")
    if lost.markers.has_other_batch(entry.last_offset):
        raise ValueError(f"the damaged batch at offset {entry.last_offset} is not a marker")
    if lost.markers.has_commit(entry, events):
        raise ValueError(f"the damaged marker at offset {entry.last_offset} is that of a commit")
    if lost.markers.has_earlier_end(entry):
        raise ValueError(f"a damaged marker has ended it before offset {entry.last_offset}")


def _check_data(entry: AbortedTxn, data: Collection[int]) -> None:
    """Compare an entry with the offsets of data; ValueError if its marker is at one of them."""
    if entry.last_offset in data:
        raise ValueError(f"by a snapshot, offset {entry.last_offset} is not a marker")


def _check_stable(entry: AbortedTxn, stable: Mapping[int, int]) -> None:
    """Compare an entry without its marker with the transactions that were open behind it."""
    found, highest = entry.last_stable_offset, stable.get(entry.last_offset, UNKNOWN_END)
    if found > highest:
        raise ValueError(
            f"a transaction from offset {highest} on was open at the last stable offset {found}"
            f" of the entry of {entry.last_offset}"
        )


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


def _states_in(
    files: Files, source: str, name: names.SegmentName
) -> list[ProducerStateEntry] | None:
    """Return the producers in a snapshot; None if it is damaged."""
    path = f"{source}/{names.segment_name(name.base_offset, names.SNAPSHOT)}"
    try:
        return decode_snapshot(read_whole(files, path), path=path)
    except (DamagedFileError, BytesError):
        return None


def _open_transactions(
    states: Iterable[ProducerStateEntry], producers: Collection[int]
) -> dict[int, int]:
    """Return the first offset of each open transaction of some producers."""
    return {
        each.producer_id: each.transaction_first_offset
        for each in states
        if each.has_transaction and each.producer_id in producers
    }


def _data_at(states: Iterable[ProducerStateEntry], offsets: Sequence[int]) -> Iterator[int]:
    """Yield those of some offsets, which ascend, that are in the last batch of a producer."""
    batches = (each.batches[-1] for each in states if each.batches)
    for each in batches if offsets else ():
        start = bisect_left(offsets, each.first_offset)
        yield from offsets[start : bisect_right(offsets, each.last_offset)]
