"""Aborted transactions and last stable offset for read_committed readers of another's directory.

    transaction index   used if it is valid, in order, and the log has an ABORT marker for each of
                        its entries
    the log             read (headers and markers) for a segment without a valid index, since a
                        segment without aborted transactions has no index either. It is always read
                        for the last segment, whose index may be behind or torn
    producer snapshot   has the open transactions at a segment's base offset; without one, the log
                        before that offset is read. One at or below the log start does not decide
                        the last stable offset: the owner removes it when it opens the log

A directory has no information about replicas, so the caller gives the high watermark.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.storage.files.file_names import TXN_INDEX
from cordwood.storage.producers.producer_state_entry import ProducedBatch, ProducerStateEntry
from cordwood.storage.reader.checked_indexes import open_entries
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.producer_states import newest_snapshot, read_snapshot
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.storage.reader.segment_walk import FoundBatch
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)

#: The first offset of the open transaction of each producer.
OpenTransactions = Mapping[int, int]

_NONE: Final[OpenTransactions] = MappingProxyType({})


class ReplayResult(NamedTuple):
    """The aborted transactions of a part of the log, and the open ones at its end."""

    aborted: tuple[AbortedTxn, ...]
    undecided: OpenTransactions


class TransactionReader:
    """Transactions for one read up to the log end at its start; results per segment are cached."""

    __slots__ = (
        *("_aborted", "_bases", "_log_start", "_reader"),
        *("_segments", "_undecided", "_walk", "log_end"),
    )

    def __init__(self, reader: PartitionReader) -> None:
        bounds = reader.offsets()
        self.log_end = bounds.log_end
        self._log_start = bounds.log_start
        self._reader = reader
        self._segments = reader.list_segments()
        self._bases = [each.base_offset for each in self._segments]
        self._walk = reader.walk()
        self._aborted: dict[int, tuple[AbortedTxn, ...]] = {}
        self._undecided: dict[int, OpenTransactions] = {}

    def last_stable_offset(self, high_watermark: int | None = None) -> int:
        """Return the first offset of the oldest open transaction; the end without one.

        It is not below the log start, which may be inside of the transaction. The end is the high
        watermark, if it is given: a marker after it can be truncated, so it decides nothing.
        """
        end = self.log_end if high_watermark is None else min(high_watermark, self.log_end)
        newest = newest_snapshot(self._reader, log_start=self._log_start, end=end)
        start, undecided = min(self._log_start, end), _NONE
        if newest is not None:
            start, undecided = newest.offset, _open_transactions(newest.states)
        replayed = self._replayed(start, end, undecided)
        stable = min(replayed.undecided.values(), default=end)
        return max(stable, min(self._log_start, end))

    def aborted_between(self, first_offset: int, end_offset: int) -> tuple[AbortedTxn, ...]:
        """Return those with records between two offsets, in the order of their markers.

        `end_offset` is not included.
        """
        found: list[AbortedTxn] = []
        bases = self._bases
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
        """Return whether no transaction from before `end_offset` is open at a segment's base."""
        undecided = self._open_at(number)
        return undecided is not None and min(undecided.values(), default=INT64_MAX) >= end_offset

    def _aborted_in(self, number: int) -> tuple[AbortedTxn, ...]:
        entries = self._aborted.get(number)
        if entries is None and number + 1 < len(self._segments):
            entries = self._indexed(self._segments[number], self._end_of(number))
        if entries is None:
            self._read_up_to(number + 1)
            entries = self._aborted[number]
        self._aborted[number] = entries
        return entries

    def _indexed(self, listed: ListedSegment, end: int) -> tuple[AbortedTxn, ...] | None:
        """Return the entries of a segment's index; None if it is empty or not valid."""
        source = self._reader.source
        entries = open_entries(source, listed.index_names(TXN_INDEX), entry_size=ABORTED_TXN_SIZE)
        index = TransactionIndex(listed.base_offset, entries)
        try:
            index.sanity_check()
            found = tuple(index.read())
        except (DamagedFileError, FileNotFoundError):
            return None
        is_ordered = all(one.last_offset < other.last_offset for one, other in pairwise(found))
        is_valid = is_ordered and all(
            entry.first_offset <= entry.last_offset < end and self._is_marked(entry)
            for entry in found
        )
        return found if found and is_valid else None

    def _is_marked(self, entry: AbortedTxn) -> bool:
        """Return whether the log has an ABORT of the entry's producer at its last offset."""
        return self._reader.retry_on_change(lambda: self._is_aborted(entry))

    def _is_aborted(self, entry: AbortedTxn) -> bool:
        """Return whether the marker is there; the entry decides for one that is damaged."""
        walk = self._walk.segment_from(entry.last_offset)
        if walk is None or not walk.first.is_control:
            return False
        header = walk.first
        if (header.base_offset, header.producer_id) != (entry.last_offset, entry.producer_id):
            return False
        try:
            marker = ProducedBatch.of(header, walk.segment.data_of(header)).marker
        except BadRecordsError:
            return True
        return marker is None or not marker.is_commit

    def _read_up_to(self, number: int) -> None:
        """Read the segments before `number`, from one with known open transactions on."""
        first = number - 1
        while (undecided := self._open_at(first)) is None:
            first -= 1
        for each in range(first, number):
            base_offset = self._segments[each].base_offset
            replayed = self._replayed(base_offset, self._end_of(each), undecided)
            undecided = self._undecided[each + 1] = replayed.undecided
            self._aborted[each] = replayed.aborted

    def _open_at(self, number: int) -> OpenTransactions | None:
        """Return the open transactions at a segment's base; None if only the log has them."""
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

    def _snapshot(self, offset: int) -> OpenTransactions | None:
        """Return the open transactions of a producer snapshot; None if it cannot be read."""
        states = read_snapshot(self._reader, offset)
        return None if states is None else _open_transactions(states)

    def _replayed(self, start: int, end: int, undecided: OpenTransactions) -> ReplayResult:
        return self._reader.retry_on_change(lambda: self._replay(start, end, undecided))

    def _replay(self, start: int, end: int, undecided: OpenTransactions) -> ReplayResult:
        """Read headers and markers of a part at whose start `undecided` were open."""
        open_, aborted = dict(undecided), []
        for found in self._walk.batches(start, end):
            entry = _follow(found, open_)
            if entry is not None:
                aborted.append(entry)
        return ReplayResult(tuple(aborted), open_)


class TransactionLookahead:
    """Transactions for one read of a part of a log, without indexes and snapshots.

    The end of the part must be at or below the last stable offset. The lookahead reads the headers
    of the part, and later ones until all transactions of the part are decided. So its cost depends
    on the size of the part. The first offset of a transaction is that of its first batch in the
    part.
    """

    __slots__ = ("_end", "_found", "_reader")

    def __init__(self, reader: PartitionReader, end_offset: int) -> None:
        self._reader = reader
        self._end = end_offset
        self._found: tuple[AbortedTxn, ...] | None = None

    @property
    def is_read(self) -> bool:
        """Return whether the headers have been read."""
        return self._found is not None

    def read_ahead(self, first_offset: int) -> None:
        """Read the headers of the part."""
        self._found = self._reader.retry_on_change(lambda: tuple(self._ahead(first_offset)))

    def aborted_between(self, first_offset: int, end_offset: int) -> tuple[AbortedTxn, ...]:
        """Return those with records from `first_offset` up to, but not including, `end_offset`.

        Requires: `read_ahead` from `first_offset` or a lower offset.
        """
        return tuple(
            entry
            for entry in self._found or ()
            if entry.first_offset < end_offset and first_offset <= entry.last_offset
        )

    def _ahead(self, first_offset: int) -> Iterator[AbortedTxn]:
        open_: dict[int, int] = {}
        for found in self._reader.batches(first_offset):
            is_after_part = found.header.base_offset >= self._end
            if is_after_part and not open_:
                return
            if not is_after_part or found.header.is_control:
                entry = _follow(found, open_)
                if entry is not None:
                    yield entry


def _open_transactions(states: Iterable[ProducerStateEntry]) -> OpenTransactions:
    return {
        state.producer_id: state.transaction_first_offset
        for state in states
        if state.has_transaction
    }


def _follow(found: FoundBatch, open_: dict[int, int]) -> AbortedTxn | None:
    """Apply a batch to the open transactions, and return the transaction that it aborts."""
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
    return AbortedTxn(header.producer_id, first_offset, header.last_offset, stable)
