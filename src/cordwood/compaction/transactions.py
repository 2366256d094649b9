"""What a pass knows of transactions as it goes through the log: which data was aborted, and which
markers nobody needs any more.

    aborted data     of a producer between the first offset and the marker of an aborted transaction
    idle marker      no batch of its transaction was met in this pass: what it says is of nothing
    aborted entry    goes back into the transaction index while a batch of the transaction is left

A pass begins at the log's start, so what it has not met is gone. That a batch will be dropped in
the same pass does not matter: its marker is idle in the next one.

Which were aborted is told before. It is doubtful where another marker follows than was told, and
where none does: of a transaction that is not over where the pass ends the marker was not met.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cordwood.records.control import ControlType
from cordwood.records.header import BatchHeader
from cordwood.storage.index import AbortedEntry


class MarkerFound(NamedTuple):
    """What a marker turns out to be; `aborted` is the entry that has to stay with it."""

    is_idle: bool
    aborted: AbortedEntry | None = None


@dataclass(slots=True)
class _Aborting:
    """A transaction whose abort marker is still to come."""

    entry: AbortedEntry
    is_met: bool = False


class TransactionTracker:
    """Hears of the batches of transactions, and of control batches, in the order of the log."""

    __slots__ = ("_aborted", "_aborting", "_committing", "_doubts")

    def __init__(self, aborted: Iterable[AbortedEntry]) -> None:
        self._aborted = sorted(aborted, key=lambda entry: entry.first_offset, reverse=True)
        self._aborting: dict[int, _Aborting] = {}
        self._committing: dict[int, int] = {}
        self._doubts: list[int] = []

    @property
    def doubtful_from(self) -> int | None:
        """The first offset from which on it is doubtful what was aborted."""
        aborting = (each.entry.first_offset for each in self._aborting.values())
        return min((*self._doubts, *self._committing.values(), *aborting), default=None)

    def on_data(self, header: BatchHeader) -> bool:
        """Whether a batch of a transaction is of an aborted one."""
        self._begin_up_to(header.last_offset)
        aborting = self._aborting.get(header.producer_id)
        if aborting is None:
            self._committing.setdefault(header.producer_id, header.base_offset)
            return False
        aborting.is_met = True
        return True

    def on_marker(self, header: BatchHeader, kind: ControlType | None) -> MarkerFound:
        """Return what becomes of a control batch; its kind is None once it has been emptied."""
        self._begin_up_to(header.last_offset)
        if kind is None:
            return MarkerFound(is_idle=True)
        if kind is ControlType.ABORT:
            return self._on_abort(header)
        if kind is ControlType.COMMIT:
            return self._on_commit(header)
        return MarkerFound(is_idle=False)

    def _on_abort(self, header: BatchHeader) -> MarkerFound:
        committing = self._committing.pop(header.producer_id, None)
        if committing is not None:
            self._doubts.append(committing)
        aborting = self._aborting.pop(header.producer_id, None)
        if aborting is None:
            return MarkerFound(is_idle=True)
        if aborting.entry.last_offset != header.last_offset:
            self._doubts.append(aborting.entry.first_offset)
        return MarkerFound(not aborting.is_met, aborting.entry if aborting.is_met else None)

    def _on_commit(self, header: BatchHeader) -> MarkerFound:
        aborting = self._aborting.get(header.producer_id)
        if aborting is not None:
            self._doubts.append(aborting.entry.first_offset)
        is_met = self._committing.pop(header.producer_id, None) is not None
        return MarkerFound(is_idle=not is_met)

    def _begin_up_to(self, offset: int) -> None:
        while self._aborted and self._aborted[-1].first_offset <= offset:
            entry = self._aborted.pop()
            self._aborting.setdefault(entry.producer_id, _Aborting(entry))
