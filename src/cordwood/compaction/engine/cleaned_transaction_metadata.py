"""The state of transactions during a survey: aborted data, and markers that can be discarded.

Kafka: `CleanedTransactionMetadata`.

    aborted data          of a producer between the first offset and the marker of an aborted
                          transaction
    discardable marker    the survey met no batch of its transaction
    aborted entry         goes back into the transaction index while a batch of its transaction is
                          left

A pass begins at the start of the log, so a batch that the survey did not meet does not exist. A
batch that this pass will drop still counts; its marker becomes discardable in the next pass.

The aborted transactions are given in advance, from the indexes. They are unconfirmed where a marker
contradicts them, and where a marker is missing: the one of a transaction that is open at the end of
the pass.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import ControlType
from cordwood.storage.segment.transaction_index import AbortedTxn


class MarkerState(NamedTuple):
    """The state of a marker; `aborted` is the index entry that stays with it."""

    is_discardable: bool
    aborted: AbortedTxn | None = None


@dataclass(slots=True)
class _OpenAborted:
    """An aborted transaction whose marker is still to come."""

    entry: AbortedTxn
    is_met: bool = False


class CleanedTransactionMetadata:
    """The transactions of a log; it receives their batches, and control batches, in order."""

    __slots__ = ("_aborted", "_conflicts", "_open_aborted", "_open_committed")

    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        self._aborted = sorted(aborted, key=lambda entry: entry.first_offset, reverse=True)
        self._open_aborted: dict[int, _OpenAborted] = {}
        self._open_committed: dict[int, int] = {}
        self._conflicts: list[int] = []

    @property
    def unconfirmed_from(self) -> int | None:
        """The first offset from which markers do not confirm the aborted transactions, or None."""
        open_aborted = (each.entry.first_offset for each in self._open_aborted.values())
        return min((*self._conflicts, *self._open_committed.values(), *open_aborted), default=None)

    def on_batch_read(self, header: BatchHeader) -> bool:
        """Add a transactional data batch; return whether its transaction was aborted."""
        self._open_up_to(header.last_offset)
        aborted = self._open_aborted.get(header.producer_id)
        if aborted is None:
            self._open_committed.setdefault(header.producer_id, header.base_offset)
            return False
        aborted.is_met = True
        return True

    def on_control_batch_read(self, header: BatchHeader, kind: ControlType | None) -> MarkerState:
        """Add a control batch, and return its state; `kind` is None if it is empty."""
        self._open_up_to(header.last_offset)
        if kind is None:
            return MarkerState(is_discardable=True)
        if kind is ControlType.ABORT:
            return self._on_abort(header)
        if kind is ControlType.COMMIT:
            return self._on_commit(header)
        return MarkerState(is_discardable=False)

    def _on_abort(self, header: BatchHeader) -> MarkerState:
        committed = self._open_committed.pop(header.producer_id, None)
        if committed is not None:
            self._conflicts.append(committed)
        aborted = self._open_aborted.pop(header.producer_id, None)
        if aborted is None:
            return MarkerState(is_discardable=True)
        if aborted.entry.last_offset != header.last_offset:
            self._conflicts.append(aborted.entry.first_offset)
        return MarkerState(not aborted.is_met, aborted.entry if aborted.is_met else None)

    def _on_commit(self, header: BatchHeader) -> MarkerState:
        aborted = self._open_aborted.get(header.producer_id)
        if aborted is not None:
            self._conflicts.append(aborted.entry.first_offset)
        is_met = self._open_committed.pop(header.producer_id, None) is not None
        return MarkerState(is_discardable=not is_met)

    def _open_up_to(self, offset: int) -> None:
        while self._aborted and self._aborted[-1].first_offset <= offset:
            entry = self._aborted.pop()
            self._open_aborted.setdefault(entry.producer_id, _OpenAborted(entry))
