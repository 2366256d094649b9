"""What a log says of its producers, held against the snapshots and the transaction indexes.

    .snapshot   says of a producer whose batches the log has what the last of them was, and of a
                transaction that is open where it began
    .txnindex   has the transactions that were aborted in its segment, and no others

Snapshots and indexes speak of the log as it was written. A cleaner takes markers and batches, and
damage hides them: from there on only what the files are in themselves is checked. Producers expire,
so a snapshot need not know all of them. The active segment's index may lag behind what of its log
was not synced yet.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.core.ports import SegmentSource
from cordwood.core.types import NO_OFFSET
from cordwood.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT
from cordwood.records.header import read_header
from cordwood.records.sequence import increment_sequence
from cordwood.records.sweep import Swept, SweptBatch
from cordwood.storage.index import ABORTED_ENTRY_SIZE, AbortedEntry, TransactionIndex
from cordwood.storage.names import SNAPSHOT, TXN_INDEX
from cordwood.storage.producer_snapshot import decode_snapshot
from cordwood.storage.producer_state import ProducedBatch, ProducerState
from cordwood.storage.reader_indexes import open_entries
from cordwood.storage.reader_listing import ListedSegment
from cordwood.workbench.findings import Finding, damage, note, of_file

_SNAPSHOT_REMEDY: Final = "remove it: producers are read from an older snapshot and the log"
_ABORTED_REMEDY: Final = (
    "stop the broker and rebuild it with cordwood log reindex: aborted records may be read as "
    "committed ones, and committed as aborted"
)
_FIELD: Final = {name: at for at, name in enumerate(SweptBatch._fields)}


class LastBatch(NamedTuple):
    """A producer's last batch in the log."""

    epoch: int
    last_sequence: int
    last_offset: int


class LoadedAborts(NamedTuple):
    """The entries of a transaction index, and what is wrong with the file itself."""

    path: str
    entries: tuple[AbortedEntry, ...]
    findings: tuple[Finding, ...] = ()


def load_aborts(source: SegmentSource, listed: ListedSegment, *, is_last: bool) -> LoadedAborts:
    """Read a transaction index; none if there is no file. The active one may end in an entry."""
    entries = open_entries(source, listed.name(TXN_INDEX), entry_size=ABORTED_ENTRY_SIZE)
    index = TransactionIndex(listed.base_offset, entries)
    try:
        if not is_last:
            index.check()
        return LoadedAborts(entries.path, tuple(index.read()))
    except DamagedFileError as error:
        return LoadedAborts(entries.path, (), (of_file(error),))


class Producers:
    """Hears of every batch of a log, in order."""

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
        self.findings: list[Finding] = []
        self._last: dict[int, LastBatch] = {}
        self._open: dict[int, int] = {}
        self._aborted: list[AbortedEntry] = []
        self._unsynced_from = unsynced_from
        self._is_known = True
        self._directory = source.path
        self._snapshots = {offset: self._load(source, offset) for offset in snapshots}

    def start(self, first_offset: int) -> None:
        """The log begins: what was open there only a snapshot knows."""
        states = self._snapshots.get(first_offset)
        self._is_known = first_offset == 0 or states is not None
        for state in states or ():
            if state.has_transaction:
                self._open[state.producer_id] = state.transaction_first_offset

    def lose(self) -> None:
        """From here on the log does not say what producers did."""
        self._is_known = False

    def reach(self, offset: int) -> None:
        """All batches below an offset have come by: the snapshot of it has to agree."""
        states = self._snapshots.get(offset)
        if states is None or not self._is_known:
            return
        known = {state.producer_id: state for state in states}
        path = self._path(offset)
        for producer_id, first_offset in self._open.items():
            state = known.get(producer_id)
            if state is None or state.transaction_first_offset != first_offset:
                found = NO_OFFSET if state is None else state.transaction_first_offset
                self._say(path, producer_id, f"open since offset {first_offset}", f"{found}")
        for producer_id, state in known.items():
            if state.has_transaction and producer_id not in self._open:
                self._say(path, producer_id, "none open", f"{state.transaction_first_offset}")
            self._hold_last(path, state)

    def add(self, swept: Swept, data: memoryview) -> None:
        """Take the batches of a pass over `data`."""
        ids = swept.columns[_FIELD["producer_id"]]
        if max(ids) < 0:
            return
        attributes = swept.columns[_FIELD["attributes"]]
        if any(each & (CONTROL_BIT | TRANSACTIONAL_BIT) for each in attributes):
            for batch in swept.batches:
                if batch.producer_id >= 0:
                    self._add(batch, data)
            return
        batches = {producer_id: row for row, producer_id in enumerate(ids)}
        rows = list(zip(*swept.columns, strict=True))
        for producer_id, row in batches.items():
            if producer_id >= 0:
                self._see_last(SweptBatch._make(rows[row]))

    def end_segment(self, loaded: LoadedAborts, *, is_last: bool) -> None:
        """Hold the aborted transactions of a segment against its index."""
        self.findings += loaded.findings
        aborted = {entry.last_offset: entry for entry in self._aborted}
        self._aborted = []
        if not self._is_known or loaded.findings:
            return
        latest = max((entry.last_offset for entry in loaded.entries), default=-1)
        for number, entry in enumerate(loaded.entries):
            expected = aborted.pop(entry.last_offset, None)
            if entry != expected:
                words = "none" if expected is None else _entry_words(expected)
                self._say_aborted(loaded.path, entry, words, _entry_words(entry), number=number)
        for entry in aborted.values():
            if is_last and entry.last_offset > latest and self._is_unsynced(entry.last_offset):
                self._note_lag(loaded.path, entry)
            else:
                self._say_aborted(loaded.path, entry, _entry_words(entry), "none", number=None)

    # -- inside

    def _load(self, source: SegmentSource, offset: int) -> tuple[ProducerState, ...] | None:
        name = ListedSegment(offset).name(SNAPSHOT)
        path = f"{source.path}/{name}"
        try:
            return tuple(decode_snapshot(source.read(name, source.stat(name).size, 0), path=path))
        except DamagedFileError as error:
            self.findings.append(of_file(error))
        except FileNotFoundError:
            pass
        return None

    def _add(self, batch: SweptBatch, data: memoryview) -> None:
        producer_id = batch.producer_id
        if not batch.attributes & CONTROL_BIT:
            if batch.attributes & TRANSACTIONAL_BIT:
                self._open.setdefault(producer_id, batch.base_offset)
            self._see_last(batch)
            return
        window = data[batch.position : batch.position + batch.size]
        header, marker = read_header(window), None
        assert header is not None, "a whole batch has a whole header"
        with suppress(BadRecordsError):  # what is no marker ends nothing
            marker = ProducedBatch.of(header, window).marker
        if marker is None:
            return
        last = self._last.get(producer_id)
        if last is not None and batch.producer_epoch > last.epoch:
            del self._last[producer_id]
        first_offset = self._open.pop(producer_id, None)
        if first_offset is not None and not marker.is_commit:
            stable = min(self._open.values(), default=batch.last_offset + 1)
            self._aborted.append(AbortedEntry(producer_id, first_offset, batch.last_offset, stable))

    def _see_last(self, batch: SweptBatch) -> None:
        delta = batch.last_offset - batch.base_offset
        sequence = increment_sequence(batch.base_sequence, delta)
        self._last[batch.producer_id] = LastBatch(batch.producer_epoch, sequence, batch.last_offset)

    def _hold_last(self, path: str, state: ProducerState) -> None:
        """Compare a producer's last batch in the log with that in a snapshot."""
        last = self._last.get(state.producer_id)
        if last is None or not state.batches or last.last_offset < state.last_offset:
            return
        found = LastBatch(state.producer_epoch, state.last_sequence, state.last_offset)
        is_later = last.last_offset > found.last_offset
        # A marker may have raised the epoch since.
        if is_later or last.last_sequence != found.last_sequence or last.epoch > found.epoch:
            self.findings.append(
                damage(
                    path,
                    f"producer {state.producer_id} has another last batch in the log",
                    remedy=_SNAPSHOT_REMEDY,
                    first_offset=last.last_offset,
                    end_offset=last.last_offset + 1,
                    expected=_batch_words(last),
                    found=_batch_words(found),
                )
            )

    def _say(self, path: str, producer_id: int, expected: str, found: str) -> None:
        self.findings.append(
            damage(
                path,
                f"the open transaction of producer {producer_id} is not the log's",
                remedy=_SNAPSHOT_REMEDY,
                expected=expected,
                found=found,
            )
        )

    def _say_aborted(
        self, path: str, entry: AbortedEntry, expected: str, found: str, *, number: int | None
    ) -> None:
        self.findings.append(
            damage(
                path,
                "an aborted transaction is not the log's",
                remedy=_ABORTED_REMEDY,
                position=None if number is None else number * ABORTED_ENTRY_SIZE,
                first_offset=min(entry.first_offset, entry.last_offset),
                end_offset=entry.last_offset + 1,
                expected=expected,
                found=found,
            )
        )

    def _note_lag(self, path: str, entry: AbortedEntry) -> None:
        self.findings.append(
            note(
                path,
                "an aborted transaction is not in the index yet",
                remedy="nothing to do: it is being written, or a broker finds it when it starts",
                first_offset=entry.first_offset,
                end_offset=entry.last_offset + 1,
            )
        )

    def _is_unsynced(self, offset: int) -> bool:
        return self._unsynced_from is not None and offset >= self._unsynced_from

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{ListedSegment(offset).name(SNAPSHOT)}"


def _entry_words(entry: AbortedEntry) -> str:
    return (
        f"producer {entry.producer_id} from {entry.first_offset} to {entry.last_offset}, "
        f"stable {entry.last_stable_offset}"
    )


def _batch_words(batch: LastBatch) -> str:
    return f"sequence {batch.last_sequence} of epoch {batch.epoch} at {batch.last_offset}"
