"""What a read_committed reader of somebody else's directory has to know: which transactions were
aborted, and from where on nothing is decided.

    transaction index   believed if it is sound and the log has a marker where each entry says
    the log             read, headers and markers, where there is no such index: a segment without
                        aborted transactions has none either, so nothing is known without a look.
                        Of the last segment it is always the log: its index may lag, or be torn
    producer snapshot   says which transactions are open where a segment begins; without one it is
                        the log before that

The high watermark is not looked at: a directory does not know what its replicas have.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import DamagedFileError
from cordwood.storage.index import ABORTED_ENTRY_SIZE, AbortedEntry, TransactionIndex
from cordwood.storage.names import TXN_INDEX
from cordwood.storage.producer_state import ProducedBatch
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_indexes import open_entries
from cordwood.storage.reader_listing import ListedSegment, snapshot_offsets
from cordwood.storage.reader_producers import read_snapshot
from cordwood.storage.reader_walk import FoundBatch

#: The first offset of each producer's open transaction.
Undecided = Mapping[int, int]

_NONE: Final[Undecided] = MappingProxyType({})


class Replayed(NamedTuple):
    """The aborted transactions of a stretch of the log, and what is open at its end."""

    aborted: tuple[AbortedEntry, ...]
    undecided: Undecided


class ReaderTransactions:
    """Answers for one reading up to one end; what was learnt of a segment is kept."""

    __slots__ = ("_aborted", "_reader", "_segments", "_undecided", "log_end")

    def __init__(self, reader: PartitionReader) -> None:
        self.log_end = reader.offsets().log_end
        self._reader = reader
        self._segments = reader.listed()
        self._aborted: dict[int, tuple[AbortedEntry, ...]] = {}
        self._undecided: dict[int, Undecided] = {}

    def last_stable_offset(self) -> int:
        """Return the first offset of the oldest open transaction, the log's end without one."""
        start, undecided = 0, _NONE
        for offset in reversed(snapshot_offsets(self._reader.names())):
            known = self._snapshot(offset) if offset <= self.log_end else None
            if known is not None:
                start, undecided = offset, known
                break
        replayed = self._replayed(start, self.log_end, undecided)
        return min(replayed.undecided.values(), default=self.log_end)

    def aborted_between(self, first_offset: int, end_offset: int) -> tuple[AbortedEntry, ...]:
        """Return those that have records from an offset up to, not including, another.

        They come in the order of their markers.
        """
        found: list[AbortedEntry] = []
        bases = [each.base_offset for each in self._segments]
        for number in range(max(0, bisect_right(bases, first_offset) - 1), len(bases)):
            entries = self._aborted_in(number)
            begin = bisect_left(entries, first_offset, key=lambda entry: entry.last_offset)
            for entry in entries[begin:]:
                if entry.first_offset < end_offset:
                    found.append(entry)
                if entry.last_stable_offset >= end_offset:
                    return tuple(found)
            if self._end_of(number) >= end_offset and self._is_over(number + 1, end_offset):
                break
        return tuple(found)

    # -- a segment

    def _is_over(self, number: int, end_offset: int) -> bool:
        """Whether no transaction from before an offset is known to go on where a segment begins."""
        undecided = self._known_at(number)
        return undecided is not None and min(undecided.values(), default=INT64_MAX) >= end_offset

    def _aborted_in(self, number: int) -> tuple[AbortedEntry, ...]:
        entries = self._aborted.get(number)
        if entries is None and number + 1 < len(self._segments):
            entries = self._indexed(self._segments[number], self._end_of(number))
        if entries is None:
            self._read_up_to(number + 1)
            entries = self._aborted[number]
        self._aborted[number] = entries
        return entries

    def _indexed(self, listed: ListedSegment, end: int) -> tuple[AbortedEntry, ...] | None:
        """Return what a segment's index says; None where it cannot be believed."""
        source = self._reader.source
        entries = open_entries(source, listed.name(TXN_INDEX), entry_size=ABORTED_ENTRY_SIZE)
        index = TransactionIndex(listed.base_offset, entries)
        try:
            index.check()
            found = tuple(index.read())
        except (DamagedFileError, FileNotFoundError):
            return None
        is_true = all(entry.last_offset < end and self._is_marked(entry) for entry in found)
        return found if found and is_true else None

    def _is_marked(self, entry: AbortedEntry) -> bool:
        """Whether the log has a marker of the producer where an entry says."""
        found = self._reader.find(entry.last_offset)
        return (
            found is not None
            and found.header.is_control
            and found.header.base_offset == entry.last_offset
            and found.header.producer_id == entry.producer_id
        )

    def _read_up_to(self, number: int) -> None:
        """Read the segments before `number`, from where it is known what was open."""
        first = number - 1
        while (undecided := self._known_at(first)) is None:
            first -= 1
        for each in range(first, number):
            base_offset = self._segments[each].base_offset
            replayed = self._replayed(base_offset, self._end_of(each), undecided)
            undecided = self._undecided[each + 1] = replayed.undecided
            self._aborted[each] = replayed.aborted

    def _known_at(self, number: int) -> Undecided | None:
        """Return what is open where a segment begins, if that is known without reading the log."""
        if number not in self._undecided and number < len(self._segments):
            known = self._snapshot(self._segments[number].base_offset)
            if known is None and number == 0:
                known = _NONE
            if known is not None:
                self._undecided[number] = known
        return self._undecided.get(number)

    def _end_of(self, number: int) -> int:
        is_last = number + 1 == len(self._segments)
        return self.log_end if is_last else self._segments[number + 1].base_offset

    # -- the files

    def _snapshot(self, offset: int) -> Undecided | None:
        """Return the open transactions of a producer snapshot that can be read."""
        states = read_snapshot(self._reader, offset)
        if states is None:
            return None
        return {
            state.producer_id: state.transaction_first_offset
            for state in states
            if state.has_transaction
        }

    def _replayed(self, start: int, end: int, undecided: Undecided) -> Replayed:
        return self._reader.patiently(lambda: self._replay(start, end, undecided))

    def _replay(self, start: int, end: int, undecided: Undecided) -> Replayed:
        """Read headers and markers, from where `undecided` were open."""
        open_, aborted = dict(undecided), []
        for found in self._reader.batches(start, end):
            entry = _follow(found, open_)
            if entry is not None:
                aborted.append(entry)
        return Replayed(tuple(aborted), open_)


class TransactionsAhead:
    """Answers for one reading of a part of a log, up to an end before which nothing is open.

    What was aborted is found by reading headers from the part's first offset to its end, and behind
    it until all that has begun by then is decided. So it takes as long as the part is, and neither
    indexes nor snapshots. A transaction seems to begin with its first batch in the part.
    """

    __slots__ = ("_end", "_found", "_reader")

    def __init__(self, reader: PartitionReader, end_offset: int) -> None:
        self._reader = reader
        self._end = end_offset
        self._found: tuple[AbortedEntry, ...] | None = None

    @property
    def is_known(self) -> bool:
        """Whether the headers have been read."""
        return self._found is not None

    def look(self, first_offset: int) -> None:
        """Read the headers."""
        self._found = self._reader.patiently(lambda: tuple(self._ahead(first_offset)))

    def aborted_between(self, first_offset: int, end_offset: int) -> tuple[AbortedEntry, ...]:
        """Return those that have records from an offset up to, not including, another.

        Requires: `look`, from no later offset.
        """
        return tuple(
            entry
            for entry in self._found or ()
            if entry.first_offset < end_offset and first_offset <= entry.last_offset
        )

    def _ahead(self, first_offset: int) -> Iterator[AbortedEntry]:
        open_: dict[int, int] = {}
        for found in self._reader.batches(first_offset):
            is_behind = found.header.base_offset >= self._end
            if is_behind and not open_:
                return
            if not is_behind or found.header.is_control:
                entry = _follow(found, open_)
                if entry is not None:
                    yield entry


def _follow(found: FoundBatch, open_: dict[int, int]) -> AbortedEntry | None:
    """Note what a batch begins or ends, and return the transaction that it aborts."""
    header = found.header
    if not header.is_control:
        if header.is_transactional:
            open_.setdefault(header.producer_id, header.base_offset)
        return None
    marker = ProducedBatch.of(header, found.data()).marker
    first_offset = None if marker is None else open_.pop(header.producer_id, None)
    if marker is None or first_offset is None or marker.is_commit:
        return None
    stable = min(open_.values(), default=header.next_offset)
    return AbortedEntry(header.producer_id, first_offset, header.last_offset, stable)
