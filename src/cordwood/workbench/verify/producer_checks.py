"""Checks of producer snapshots and transaction indexes against the log.

    .snapshot   contains the last batch of each producer in the log, and the first offset of each
                open transaction
    .txnindex   contains exactly the transactions that were aborted in its segment

Snapshots and indexes describe the log as it was written. A cleaner removes markers and batches, and
damage hides them; from there on, each file is checked only by itself. Producers expire, so a
snapshot need not contain all of them. The index of the active segment may lag behind the part of
its log that is not fsynced yet.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.core.ports import SegmentSource
from cordwood.core.types import NO_OFFSET
from cordwood.records.batch_checks import CheckedBatch, CheckedBatches
from cordwood.records.batch_header import read_header
from cordwood.records.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT
from cordwood.records.sequence import increment_sequence
from cordwood.storage.files.file_names import SNAPSHOT, TXN_INDEX
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducedBatch, ProducerStateEntry
from cordwood.storage.reader.checked_indexes import open_entries
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)
from cordwood.workbench.verify.findings import VerifyFinding, damage, file_finding, note

_SNAPSHOT_REMEDY: Final = "remove it: producers are rebuilt from an older snapshot and the log"
_ABORTED_REMEDY: Final = (
    "stop the broker and run cordwood log reindex: readers may see aborted records, or miss "
    "committed ones"
)
_FIELD: Final = {name: at for at, name in enumerate(CheckedBatch._fields)}


class LastProducedBatch(NamedTuple):
    """A producer's last batch in the log."""

    epoch: int
    last_sequence: int
    last_offset: int


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
    entries = open_entries(source, listed.name(TXN_INDEX), entry_size=ABORTED_TXN_SIZE)
    index = TransactionIndex(listed.base_offset, entries)
    try:
        if not is_last:
            index.sanity_check()
        return LoadedTransactionIndex(entries.path, tuple(index.read()))
    except DamagedFileError as error:
        return LoadedTransactionIndex(entries.path, (), (file_finding(error),))


class ProducerCheck:
    """The check of producers; receives every batch of a log in order."""

    __slots__ = (
        "_aborted",
        "_directory",
        "_is_known",
        "_last",
        "_open",
        "_snapshots",
        "_unsynced_from",
        "findings",
    )

    def __init__(
        self,
        source: SegmentSource,
        snapshots: Sequence[int],
        *,
        unsynced_from: int | None = None,
    ) -> None:
        self.findings: list[VerifyFinding] = []
        self._last: dict[int, LastProducedBatch] = {}
        self._open: dict[int, int] = {}
        self._aborted: list[AbortedTxn] = []
        self._unsynced_from = unsynced_from
        self._is_known = True
        self._directory = source.path
        self._snapshots = {offset: self._load(source, offset) for offset in snapshots}

    def start(self, first_offset: int) -> None:
        """Begin the log; transactions that are open there are in the snapshot of that offset."""
        states = self._snapshots.get(first_offset)
        self._is_known = first_offset == 0 or states is not None
        for state in states or ():
            if state.has_transaction:
                self._open[state.producer_id] = state.transaction_first_offset

    def disable(self) -> None:
        """Stop comparing: from here on, the log does not contain all batches of producers."""
        self._is_known = False

    def check_snapshot(self, offset: int) -> None:
        """Compare the snapshot of an offset; all batches below it must have been added."""
        states = self._snapshots.get(offset)
        if states is None or not self._is_known:
            return
        known = {state.producer_id: state for state in states}
        path = self._path(offset)
        for producer_id, first_offset in self._open.items():
            state = known.get(producer_id)
            if state is None or state.transaction_first_offset != first_offset:
                found = NO_OFFSET if state is None else state.transaction_first_offset
                expected = f"open since offset {first_offset}"
                self._add_transaction(path, producer_id, expected, f"{found}")
        for producer_id, state in known.items():
            if state.has_transaction and producer_id not in self._open:
                found_text = f"{state.transaction_first_offset}"
                self._add_transaction(path, producer_id, "none open", found_text)
            self._check_last(path, state)

    def add(self, swept: CheckedBatches, data: memoryview) -> None:
        """Add swept batches; `data` are their bytes."""
        ids = swept.columns[_FIELD["producer_id"]]
        if max(ids) < 0:
            return
        attributes = swept.columns[_FIELD["attributes"]]
        if any(each & (CONTROL_BIT | TRANSACTIONAL_BIT) for each in attributes):
            for batch in swept.batches:
                if batch.producer_id >= 0:
                    self._add_batch(batch, data)
            return
        batches = {producer_id: row for row, producer_id in enumerate(ids)}
        rows = list(zip(*swept.columns, strict=True))
        for producer_id, row in batches.items():
            if producer_id >= 0:
                self._set_last(CheckedBatch._make(rows[row]))

    def end_segment(self, loaded: LoadedTransactionIndex, *, is_last: bool) -> None:
        """Compare the aborted transactions of a segment with its index."""
        self.findings += loaded.findings
        aborted = {entry.last_offset: entry for entry in self._aborted}
        self._aborted = []
        if not self._is_known or loaded.findings:
            return
        latest = max((entry.last_offset for entry in loaded.entries), default=-1)
        for number, entry in enumerate(loaded.entries):
            expected = aborted.pop(entry.last_offset, None)
            if entry != expected:
                text = "none" if expected is None else _entry_text(expected)
                self._add_aborted(loaded.path, entry, text, _entry_text(entry), number=number)
        for entry in aborted.values():
            if is_last and entry.last_offset > latest and self._is_unsynced(entry.last_offset):
                self._add_lag(loaded.path, entry)
            else:
                self._add_aborted(loaded.path, entry, _entry_text(entry), "none", number=None)

    # -- inside

    def _load(self, source: SegmentSource, offset: int) -> tuple[ProducerStateEntry, ...] | None:
        name = ListedSegment(offset).name(SNAPSHOT)
        path = f"{source.path}/{name}"
        try:
            return tuple(decode_snapshot(source.read(name, source.stat(name).size, 0), path=path))
        except DamagedFileError as error:
            self.findings.append(file_finding(error))
        except FileNotFoundError:
            pass
        return None

    def _add_batch(self, batch: CheckedBatch, data: memoryview) -> None:
        producer_id = batch.producer_id
        if not batch.attributes & CONTROL_BIT:
            if batch.attributes & TRANSACTIONAL_BIT:
                self._open.setdefault(producer_id, batch.base_offset)
            self._set_last(batch)
            return
        window = data[batch.position : batch.position + batch.size]
        header, marker = read_header(window), None
        assert header is not None, "a whole batch has a whole header"
        with suppress(BadRecordsError):  # not a marker, so it ends no transaction
            marker = ProducedBatch.of(header, window).marker
        if marker is None:
            return
        last = self._last.get(producer_id)
        if last is not None and batch.producer_epoch > last.epoch:
            del self._last[producer_id]
        first_offset = self._open.pop(producer_id, None)
        if first_offset is not None and not marker.is_commit:
            stable = min(self._open.values(), default=batch.last_offset + 1)
            self._aborted.append(AbortedTxn(producer_id, first_offset, batch.last_offset, stable))

    def _set_last(self, batch: CheckedBatch) -> None:
        delta = batch.last_offset - batch.base_offset
        sequence = increment_sequence(batch.base_sequence, delta)
        self._last[batch.producer_id] = LastProducedBatch(
            batch.producer_epoch, sequence, batch.last_offset
        )

    def _check_last(self, path: str, state: ProducerStateEntry) -> None:
        """Compare the last batch of a producer in the log with the snapshot."""
        last = self._last.get(state.producer_id)
        if last is None or not state.batches or last.last_offset < state.last_offset:
            return
        found = LastProducedBatch(state.producer_epoch, state.last_sequence, state.last_offset)
        is_later = last.last_offset > found.last_offset
        # A marker may have raised the epoch since.
        if is_later or last.last_sequence != found.last_sequence or last.epoch > found.epoch:
            self.findings.append(
                damage(
                    path,
                    f"the last batch of producer {state.producer_id} differs from the log",
                    remedy=_SNAPSHOT_REMEDY,
                    first_offset=last.last_offset,
                    end_offset=last.last_offset + 1,
                    expected=_batch_text(last),
                    found=_batch_text(found),
                )
            )

    def _add_transaction(self, path: str, producer_id: int, expected: str, found: str) -> None:
        self.findings.append(
            damage(
                path,
                f"the open transaction of producer {producer_id} differs from the log",
                remedy=_SNAPSHOT_REMEDY,
                expected=expected,
                found=found,
            )
        )

    def _add_aborted(
        self, path: str, entry: AbortedTxn, expected: str, found: str, *, number: int | None
    ) -> None:
        self.findings.append(
            damage(
                path,
                "an aborted transaction differs from the log",
                remedy=_ABORTED_REMEDY,
                position=None if number is None else number * ABORTED_TXN_SIZE,
                first_offset=min(entry.first_offset, entry.last_offset),
                end_offset=entry.last_offset + 1,
                expected=expected,
                found=found,
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

    def _is_unsynced(self, offset: int) -> bool:
        return self._unsynced_from is not None and offset >= self._unsynced_from

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{ListedSegment(offset).name(SNAPSHOT)}"


def _entry_text(entry: AbortedTxn) -> str:
    return (
        f"producer {entry.producer_id} from {entry.first_offset} to {entry.last_offset}, "
        f"stable {entry.last_stable_offset}"
    )


def _batch_text(batch: LastProducedBatch) -> str:
    return f"sequence {batch.last_sequence} of epoch {batch.epoch} at {batch.last_offset}"
