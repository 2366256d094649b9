"""Checks of transaction indexes against the markers of the log.

    an entry               its producer has an ABORT marker at its last offset
    an ABORT marker        has an entry if data of its transaction are left
    first, stable offset   are those of the log
    order                  last offsets ascend: a search ends at the first entry behind its range

A cleaner removes the data of aborted transactions, and later their markers. Damage hides both. So
the first data of a transaction may be gone below the offset from which on the log is complete. The
first and the stable offset of an entry are then at most the log's. An entry whose marker is in a
damaged range cannot be compared.

The index of the active segment may lag behind the part of its log that is not fsynced, or be ahead
of it after a crash.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX, bytes_view
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import SegmentSource
from cordwood.storage.files.file_names import TXN_INDEX
from cordwood.storage.reader.checked_indexes import open_entries
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)
from cordwood.workbench.verify.findings import REBUILD, VerifyFinding, damage, file_finding, note
from cordwood.workbench.verify.open_transactions import SeenTransaction

_REMEDY: Final = f"readers may see aborted records, or miss committed ones; {REBUILD}"
_CAUSE: Final = "an aborted transaction differs from the log"


class LoadedTransactionIndex(NamedTuple):
    """The entries of a transaction index, and the findings about the file itself."""

    path: str
    entries: tuple[AbortedTxn, ...]
    findings: tuple[VerifyFinding, ...] = ()


def load_transaction_index(
    source: SegmentSource, listed: ListedSegment, *, is_last: bool
) -> LoadedTransactionIndex:
    """Read a transaction index; a missing file has no entries.

    The index of the active segment may end within an entry, since it is being written.
    """
    entries = open_entries(source, listed.index_names(TXN_INDEX), entry_size=ABORTED_TXN_SIZE)
    index = TransactionIndex(listed.base_offset, entries)
    try:
        if not is_last:
            index.sanity_check()
        found = tuple(index.read())
    except DamagedFileError as error:
        return LoadedTransactionIndex(entries.path, (), (file_finding(error),))
    # Brokers read the first byte of the version only, and write two.
    second = bytes(bytes_view(entries.read(0, entries.count))[1::ABORTED_TXN_SIZE])
    if any(second):
        number = next(at for at, byte in enumerate(second) if byte)
        wrong = damage(
            entries.path,
            "an entry has an unknown version",
            remedy=_REMEDY,
            position=number * ABORTED_TXN_SIZE,
            expected=0,
            found=second[number],
        )
        return LoadedTransactionIndex(entries.path, found, (wrong,))
    return LoadedTransactionIndex(entries.path, found)


class AbortMarker(NamedTuple):
    """An ABORT marker and what the log shows of its transaction; None if all data are gone.

    The log has all batches from `complete_from` on. `ended_at` is the marker of the producer before
    this one, -1 without one: the transaction begins behind it.
    """

    producer_id: int
    offset: int
    seen: SeenTransaction | None
    stable_offset: int
    complete_from: int
    ended_at: int = -1

    @property
    def entry(self) -> AbortedTxn | None:
        """The entry that an index of this log has."""
        if self.seen is None:
            return None
        return AbortedTxn(self.producer_id, self.seen.first_offset, self.offset, self.stable_offset)

    def is_borne_out(self, entry: AbortedTxn) -> bool:
        """Return whether an entry with this last offset can be that of the transaction."""
        if entry == self.entry:
            return True
        if entry.producer_id != self.producer_id:
            return False
        first = INT64_MAX if self.seen is None else self.seen.first_offset
        limit = self.complete_from
        is_first = entry.first_offset > self.ended_at
        return (
            is_first
            and _is_same_or_gone(entry.first_offset, first, limit)
            and _is_same_or_gone(entry.last_stable_offset, self.stable_offset, limit)
        )

    def needs_entry(self, log_start: int) -> bool:
        """Return whether readers need an entry: without one they return aborted records."""
        if self.seen is None:
            return False
        return self.complete_from == 0 or self.seen.last_offset >= log_start


class TransactionIndexCheck:
    """The check of the transaction indexes of one log, segment by segment."""

    __slots__ = ("_log_start", "_lost", "_markers", "_unsynced_from", "findings")

    def __init__(self, *, log_start: int, unsynced_from: int | None) -> None:
        self.findings: list[VerifyFinding] = []
        self._markers: dict[int, AbortMarker] = {}
        self._lost: list[tuple[int, int]] = []
        self._log_start = log_start
        self._unsynced_from = unsynced_from

    def add(self, marker: AbortMarker) -> None:
        """Add the next ABORT marker of the segment."""
        self._markers[marker.offset] = marker

    def lose(self, first_offset: int, end_offset: int | None) -> None:
        """Add a damaged range of the segment; its markers are unknown."""
        self._lost.append((first_offset, INT64_MAX if end_offset is None else end_offset))

    def end_segment(self, loaded: LoadedTransactionIndex, *, is_last: bool, log_end: int) -> None:
        """Compare the index of a segment with the markers that were added."""
        markers, lost = self._markers, self._lost
        self._markers, self._lost = {}, []
        self.findings += loaded.findings
        if loaded.findings:
            return
        latest = max((entry.last_offset for entry in loaded.entries), default=-1)
        self.findings += _find_disorder(loaded)
        for number, entry in enumerate(loaded.entries):
            marker = markers.pop(entry.last_offset, None)
            if marker is not None and marker.is_borne_out(entry):
                continue
            if marker is None and any(first <= entry.last_offset < end for first, end in lost):
                continue
            if is_last and entry.last_offset >= log_end and self._is_unsynced(entry.last_offset):
                self._add_ahead(loaded.path, entry)
                continue
            expected = None if marker is None else marker.entry
            self._add(loaded.path, entry, expected=expected, number=number)
        for marker in markers.values():
            if marker.entry is None or not marker.needs_entry(self._log_start):
                continue
            if is_last and marker.offset > latest and self._is_unsynced(marker.offset):
                self._add_lag(loaded.path, marker.entry)
            else:
                self._add(loaded.path, None, expected=marker.entry, number=None)

    # -- inside

    def _is_unsynced(self, offset: int) -> bool:
        return self._unsynced_from is not None and offset >= self._unsynced_from

    def _add(
        self,
        path: str,
        entry: AbortedTxn | None,
        *,
        expected: AbortedTxn | None,
        number: int | None,
    ) -> None:
        place = entry or expected
        assert place is not None, "one of them is there"
        self.findings.append(
            damage(
                path,
                _CAUSE,
                remedy=_REMEDY,
                position=None if number is None else number * ABORTED_TXN_SIZE,
                first_offset=min(place.first_offset, place.last_offset),
                end_offset=place.last_offset + 1,
                expected=_entry_text(expected),
                found=_entry_text(entry),
            )
        )

    def _add_lag(self, path: str, entry: AbortedTxn) -> None:
        self.findings.append(
            note(
                path,
                "an aborted transaction is not in the index yet",
                remedy="nothing to do: it is being written, or a broker adds it at startup",
                first_offset=entry.first_offset,
                end_offset=entry.last_offset + 1,
            )
        )

    def _add_ahead(self, path: str, entry: AbortedTxn) -> None:
        self.findings.append(
            note(
                path,
                "an aborted transaction is behind the end of the log, which lost records that were "
                "not fsynced",
                remedy="nothing to do: a broker rebuilds the index at startup",
                first_offset=entry.first_offset,
                end_offset=entry.last_offset + 1,
            )
        )


def _find_disorder(loaded: LoadedTransactionIndex) -> Iterator[VerifyFinding]:
    """Yield a finding for the first entry that is not behind the one before it."""
    offsets = [entry.last_offset for entry in loaded.entries]
    number = next((at for at in range(1, len(offsets)) if offsets[at] <= offsets[at - 1]), None)
    if number is not None:
        yield damage(
            loaded.path,
            "the entries are not in the order of their last offsets",
            remedy=_REMEDY,
            position=number * ABORTED_TXN_SIZE,
            expected=f"above {offsets[number - 1]}",
            found=offsets[number],
        )


def _is_same_or_gone(found: int, seen: int, complete_from: int) -> bool:
    """Return whether an offset is the one that was seen, or an earlier one that may be gone."""
    return found == seen or 0 <= found < min(seen, complete_from)


def _entry_text(entry: AbortedTxn | None) -> str:
    if entry is None:
        return "none"
    return (
        f"producer {entry.producer_id} from {entry.first_offset} to {entry.last_offset}, "
        f"stable {entry.last_stable_offset}"
    )
