"""Runs of one log file of the source.

Most files are as a broker has written them: all batches are whole and in order. Such a file is read
once, its batches go into runs one by one, and memory does not grow with them. At the first batch
that is not in order, the file is read again as a whole, and `batch_chain` decides.

The rules of the order are those of the chain: `OffsetOrder`, `EpochOrder` and `OffsetCorrections`.
"""

from collections.abc import Collection
from itertools import takewhile
from typing import NamedTuple

from cordwood.core.types import LeaderEpoch
from cordwood.records.batch_checks import BatchChecker
from cordwood.workbench.salvage.batch_chain import BatchChain, batch_of, build_chain
from cordwood.workbench.salvage.batch_epochs import EpochOrder
from cordwood.workbench.salvage.batch_run import SalvagedRun, SourceWindows, runs_of
from cordwood.workbench.salvage.batch_scan import scan_file
from cordwood.workbench.salvage.file_bounds import FileBounds, OffsetOrder
from cordwood.workbench.salvage.offset_corrections import OffsetCorrections
from cordwood.workbench.salvage.salvage_report import DamagedOffsets
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust
from cordwood.workbench.salvage.source_directory import SideFileFacts


class FileRuns(NamedTuple):
    """The runs of a file, inside and outside of its bounds, batches that fit nowhere, and damage.

    `end` is the offset behind the last batch, `epoch` its leader epoch; None without a batch.
    """

    within: list[SalvagedRun]
    strays: list[list[SalvagedRun]]
    misfits: list[SalvagedBatch]
    damages: list[DamagedOffsets]
    end: int | None
    epoch: LeaderEpoch | None


class FileReader:
    """A reader of the files of a source, which knows the corrections of those read before."""

    def __init__(
        self,
        windows: SourceWindows,
        known: SideFileFacts,
        *,
        checker: BatchChecker,
        foreign: Collection[str] = (),
    ) -> None:
        self._windows = windows
        self._known = known
        self._checker = checker
        self._foreign = foreign
        self._corrections = OffsetCorrections()

    def read(self, path: str, bounds: FileBounds, *, start: int = 0) -> FileRuns:
        """Return the runs of a file; with `start`, only what reaches to it or behind it."""
        found = None if start else self._in_order(path, bounds)
        return self._chained(path, bounds, start) if found is None else found

    def _in_order(self, path: str, bounds: FileBounds) -> FileRuns | None:
        """Return the runs of a file whose batches are all in order, else None."""
        window = self._windows.window(path)
        order = _FileOrder(bounds, self._known, self._corrections)
        pieces = scan_file(window, self._checker)
        batches = (batch_of(path, piece, window=window, trust=Trust.LED) for piece in pieces)
        taken = (each for each in takewhile(order.takes, batches) if each is not None)
        runs = list(runs_of(taken, cleaned_to=self._known.cleaned_to, foreign=self._foreign))
        if not order.is_right:
            return None
        within, strays = ([], [runs]) if path in self._foreign else (runs, [])
        last = order.last
        end, epoch = (None, None) if last is None else (last.next_offset, LeaderEpoch(last.epoch))
        return FileRuns(within, strays, [], [], end, epoch)

    def _chained(self, path: str, bounds: FileBounds, start: int) -> FileRuns:
        """Return the runs of a file of which all batches are compared with each other."""
        window = self._windows.window(path)
        chain = build_chain(
            path,
            scan_file(window, self._checker),
            window=window,
            bounds=bounds,
            epoch_for=self._known.epochs.epoch_for,
        )
        chain = _tail_of(chain, start)
        rest, copies = self._corrections.split(chain.batches)
        is_foreign = path in self._foreign
        within = [each for each in rest if bounds.has(each) and not is_foreign]
        strays = [each for each in rest if is_foreign or not bounds.has(each)]
        last = chain.batches[-1] if chain.batches else None
        return FileRuns(
            self._runs(within),
            [self._runs(strays), self._runs(copies)],
            chain.misfits,
            [DamagedOffsets(first, end, damage, path) for first, end, damage in chain.damages],
            None if last is None else last.next_offset,
            None if last is None else LeaderEpoch(last.epoch),
        )

    def _runs(self, batches: list[SalvagedBatch]) -> list[SalvagedRun]:
        return list(runs_of(batches, cleaned_to=self._known.cleaned_to, foreign=self._foreign))


class _FileOrder:
    """The order of the batches of a file, and the last one."""

    def __init__(
        self, bounds: FileBounds, known: SideFileFacts, corrections: OffsetCorrections
    ) -> None:
        self._offsets = OffsetOrder(bounds)
        self._epochs = EpochOrder(known.epochs.epoch_for, around=bounds.epochs)
        self._corrections = corrections
        self._is_broken = False
        self.last: SalvagedBatch | None = None

    def takes(self, batch: SalvagedBatch | None) -> bool:
        """Return whether a batch follows in order; None stands for damage."""
        self._is_broken = (
            batch is None
            or not batch.is_regular
            or self._corrections.has_copy(batch)
            or not self._offsets.takes(batch)
            or not self._epochs.takes(batch)
        )
        self.last = batch
        return not self._is_broken

    @property
    def is_right(self) -> bool:
        """Return whether all batches were in order, and the last one is certain."""
        return not self._is_broken and self._offsets.is_certain and self._epochs.is_certain


def _tail_of(chain: BatchChain, start: int) -> BatchChain:
    """Return what reaches to `start` or behind it."""
    return BatchChain(
        [each for each in chain.batches if each.last_offset >= start],
        [each for each in chain.misfits if each.last_offset >= start],
        [each for each in chain.damages if not start or each[1] is None or each[1] > start],
    )
