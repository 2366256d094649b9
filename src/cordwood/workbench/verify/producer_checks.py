"""Checks of producers: snapshots against the log, and transaction indexes (the module next to it).

    .snapshot   contains the last batch of each producer in the log, and the first offset of each
                open transaction; the log has these batches

Snapshots describe the log as it was written. A cleaner removes batches, and damage hides them. So
`complete_from` is the offset from which on the log has all batches: facts of a snapshot above it
must be in the log, and facts of the log must be in every snapshot. Producers expire, so a snapshot
need not contain all of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.core.ports import SegmentSource
from cordwood.core.types import NO_OFFSET
from cordwood.records.batch_checks import CheckedBatch, CheckedBatches
from cordwood.records.batch_header import read_header
from cordwood.records.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT
from cordwood.records.sequence import increment_sequence
from cordwood.storage.checkpoints.clean_shutdown_file import CLEAN_SHUTDOWN
from cordwood.storage.files.file_names import SNAPSHOT
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducedBatch, ProducerStateEntry
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.workbench.verify.findings import (
    LOST,
    REBUILD,
    VerifyFinding,
    damage,
    file_finding,
)
from cordwood.workbench.verify.open_transactions import OpenTransactions
from cordwood.workbench.verify.transaction_index_checks import (
    AbortMarker,
    LoadedTransactionIndex,
    TransactionIndexCheck,
)

_SNAPSHOT_REMEDY: Final = (
    f"remove the file: producers are rebuilt from an older snapshot and the log; or {REBUILD}"
)
_END_REMEDY: Final = f"the end of the transaction is missing in the log; {LOST}"
_FIELD: Final = {name: at for at, name in enumerate(CheckedBatch._fields)}


class LastProducedBatch(NamedTuple):
    """A producer's last batch in the log."""

    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int


class ProducerCheck:
    """The check of producers; receives every batch of a log in order."""

    __slots__ = (
        "_aborted",
        "_complete_from",
        "_directory",
        "_ended_at",
        "_findings",
        "_first_offset",
        "_last",
        "_log_start",
        "_open",
        "_snapshots",
        "_thinned_to",
    )

    def __init__(
        self,
        source: SegmentSource,
        snapshots: Sequence[int],
        *,
        unsynced_from: int | None = None,
        log_start: int = 0,
    ) -> None:
        self._findings: list[VerifyFinding] = []
        self._last: dict[int, LastProducedBatch] = {}
        self._open = OpenTransactions()
        #: The last marker of each producer.
        self._ended_at: dict[int, int] = {}
        self._aborted = TransactionIndexCheck(log_start=log_start, unsynced_from=unsynced_from)
        self._complete_from = self._thinned_to = 0
        self._first_offset = 0
        self._log_start = log_start
        self._directory = source.path
        self._snapshots = {offset: self._load(source, offset) for offset in snapshots}

    @property
    def findings(self) -> list[VerifyFinding]:
        return self._findings + self._aborted.findings

    def start(self, first_offset: int) -> None:
        """Begin the log; transactions that are open there are in the snapshot of that offset."""
        states = self._snapshots.get(first_offset)
        self._first_offset = first_offset
        if first_offset and states is None:
            self.thin_out(first_offset)
        for state in states or ():
            if state.has_transaction:
                first = state.transaction_first_offset
                self._open.add(state.producer_id, first_offset=first, last_offset=first_offset - 1)

    def thin_out(self, end_offset: int) -> None:
        """Note that batches below an offset may be gone, most likely by a cleaner.

        So may the markers of transactions that only the snapshot at the start of the log has.
        """
        if end_offset > self._first_offset:
            self._open.forget_before(self._first_offset)
        self._thinned_to = max(self._thinned_to, end_offset)
        self._complete_from = max(self._complete_from, end_offset)

    def lose(self, first_offset: int, end_offset: int | None) -> None:
        """Note a damaged range: transactions may have begun and ended in it."""
        self._aborted.lose(first_offset, end_offset)
        self._open.clear()
        self._complete_from = INT64_MAX

    def check_snapshot(self, offset: int) -> None:
        """Compare the snapshot of an offset; all batches below it must have been added."""
        states = self._snapshots.get(offset)
        if states is None:
            return
        known = {state.producer_id: state for state in states}
        path = self._path(offset)
        for producer_id, first_offset in self._open.first_offsets():
            state = known.get(producer_id)
            found = NO_OFFSET if state is None else state.transaction_first_offset
            is_earlier = NO_OFFSET < found < min(first_offset, self._complete_from)
            if found != first_offset and not is_earlier:
                expected = f"open since offset {first_offset}"
                self._add_transaction(path, producer_id, expected=expected, found=found)
        for producer_id, state in known.items():
            first_offset = state.transaction_first_offset
            is_visible = state.has_transaction and first_offset >= self._complete_from
            if is_visible and producer_id not in self._open:
                self._add_transaction(path, producer_id, expected="none open", found=first_offset)
            self._check_last(path, state, offset)

    def check_end(self, log_end: int, *, is_clean: bool) -> None:
        """Compare the snapshot of the log end, which every clean stop leaves.

        Brokers replay the log from their newest snapshot on, and from the log start on if that is
        later. After a clean stop without any snapshot Kafka replays nothing: it forgets open
        transactions, and returns their records as committed.
        """
        self.check_snapshot(log_end)
        if not is_clean or self._snapshots:
            return
        for producer_id, first_offset in self._open.visible(self._log_start):
            self._findings.append(
                damage(
                    self._path(log_end),
                    f"no snapshot has the open transaction of producer {producer_id}, and the "
                    "broker has stopped in order: Kafka forgets it",
                    remedy=f"remove {CLEAN_SHUTDOWN}: producers are then rebuilt from the log",
                    first_offset=first_offset,
                    end_offset=log_end,
                )
            )

    def add(self, swept: CheckedBatches, data: memoryview) -> None:
        """Add swept batches; `data` are their bytes."""
        columns = swept.columns
        if self._complete_from == INT64_MAX:
            self._complete_from = max(columns[_FIELD["base_offset"]][0], self._thinned_to)
        ids = columns[_FIELD["producer_id"]]
        if max(ids) < 0:
            return
        attributes = columns[_FIELD["attributes"]]
        if any(each & (CONTROL_BIT | TRANSACTIONAL_BIT) for each in attributes):
            for batch in swept.batches:
                if batch.producer_id >= 0:
                    self._add_batch(batch, data)
            return
        batches = {producer_id: row for row, producer_id in enumerate(ids)}
        rows = list(zip(*columns, strict=True))
        for producer_id, row in batches.items():
            if producer_id >= 0:
                self._set_last(CheckedBatch._make(rows[row]))

    def end_segment(
        self, loaded: LoadedTransactionIndex, *, is_last: bool, log_end: int = INT64_MAX
    ) -> None:
        """Compare the aborted transactions of a segment with its index."""
        self._aborted.end_segment(loaded, is_last=is_last, log_end=log_end)

    def missing_last_batches(self, log_end: int) -> Iterator[tuple[int, int]]:
        """Yield offset and producer of last batches that only the newest snapshot has."""
        newest = max((each for each in self._snapshots if each <= log_end), default=0)
        for state in self._snapshots.get(newest) or ():
            if state.batches and self._is_behind(state):
                yield state.last_offset, state.producer_id

    # -- inside

    def _load(self, source: SegmentSource, offset: int) -> tuple[ProducerStateEntry, ...] | None:
        name = ListedSegment(offset).name(SNAPSHOT)
        path = f"{source.path}/{name}"
        try:
            return tuple(decode_snapshot(source.read(name, source.stat(name).size, 0), path=path))
        except DamagedFileError as error:
            self._findings.append(file_finding(error))
        except FileNotFoundError:
            pass
        return None

    def _add_batch(self, batch: CheckedBatch, data: memoryview) -> None:
        producer_id = batch.producer_id
        if not batch.attributes & CONTROL_BIT:
            if batch.attributes & TRANSACTIONAL_BIT:
                self._open.add(
                    producer_id, first_offset=batch.base_offset, last_offset=batch.last_offset
                )
            self._set_last(batch)
            return
        window = data[batch.position : batch.position + batch.size]
        header, marker = read_header(window), None
        assert header is not None, "a whole batch has a whole header"
        with suppress(BadRecordsError):  # not a marker, so it ends no transaction
            marker = ProducedBatch.of(header, window).marker
        if marker is None:
            if not header.record_count:  # a cleaner's remainder, most likely of a marker
                self._open.end(producer_id)
            return
        last = self._last.get(producer_id)
        if last is not None and batch.producer_epoch > last.epoch:
            del self._last[producer_id]
        seen = self._open.end(producer_id)
        offset, ended_at = batch.last_offset, self._ended_at.get(producer_id, -1)
        self._ended_at[producer_id] = offset
        if not marker.is_commit:
            stable = self._open.stable_offset(offset + 1)
            self._aborted.add(
                AbortMarker(producer_id, offset, seen, stable, self._complete_from, ended_at)
            )

    def _set_last(self, batch: CheckedBatch) -> None:
        delta = batch.last_offset - batch.base_offset
        sequence = increment_sequence(batch.base_sequence, delta)
        self._last[batch.producer_id] = LastProducedBatch(
            batch.producer_epoch, sequence, batch.last_offset, delta
        )

    def _is_behind(self, state: ProducerStateEntry) -> bool:
        last = self._last.get(state.producer_id)
        return last is None or last.last_offset < state.last_offset

    def _check_last(self, path: str, state: ProducerStateEntry, offset: int) -> None:
        """Compare the last batch of a producer in the log with the snapshot."""
        if not state.batches:
            return
        last = self._last.get(state.producer_id)
        found = LastProducedBatch(
            state.producer_epoch,
            state.last_sequence,
            state.last_offset,
            state.batches[-1].offset_delta,
        )
        complete_from = max(self._complete_from, self._first_offset)
        if found.last_offset >= offset:
            self._add_last(path, state.producer_id, expected=last, found=found)
        elif last is None or self._is_behind(state):
            if complete_from <= found.last_offset:
                self._add_last(path, state.producer_id, expected=last, found=found)
        elif _differs(last, found, is_complete=complete_from <= last.last_offset):
            self._add_last(path, state.producer_id, expected=last, found=found)

    def _add_last(
        self,
        path: str,
        producer_id: int,
        *,
        expected: LastProducedBatch | None,
        found: LastProducedBatch,
    ) -> None:
        place = (expected or found).last_offset
        self._findings.append(
            damage(
                path,
                f"the last batch of producer {producer_id} differs from the log",
                remedy=_SNAPSHOT_REMEDY,
                first_offset=place,
                end_offset=place + 1,
                expected="none" if expected is None else _batch_text(expected),
                found=_batch_text(found),
            )
        )

    def _add_transaction(self, path: str, producer_id: int, *, expected: str, found: int) -> None:
        """Add the finding; a snapshot that has ended a transaction is a witness of its marker."""
        self._findings.append(
            damage(
                path,
                f"the open transaction of producer {producer_id} differs from the log",
                remedy=_END_REMEDY if found == NO_OFFSET else _SNAPSHOT_REMEDY,
                expected=expected,
                found="none open" if found == NO_OFFSET else f"open since offset {found}",
            )
        )

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{ListedSegment(offset).name(SNAPSHOT)}"


def _differs(last: LastProducedBatch, found: LastProducedBatch, *, is_complete: bool) -> bool:
    """Return whether a snapshot contradicts the log, which may lack later markers.

    A marker that raises the epoch removes the last batch from the log's state and from snapshots.
    """
    if last.last_offset > found.last_offset or last.last_sequence != found.last_sequence:
        return True
    if is_complete:
        return (last.epoch, last.offset_delta) != (found.epoch, found.offset_delta)
    return last.epoch > found.epoch


def _batch_text(batch: LastProducedBatch) -> str:
    first = batch.last_offset - batch.offset_delta
    return (
        f"sequence {batch.last_sequence} of epoch {batch.epoch} at {first} to {batch.last_offset}"
    )
