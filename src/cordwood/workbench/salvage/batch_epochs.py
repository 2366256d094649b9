"""Leader epochs of salvaged batches, which no checksum covers.

They never decrease. The longest chain of epochs that do not decrease is right; of several, the one
in which the most batches have the epoch of the one before them. An epoch outside of the chain gets
that of its neighbours, or that of its offset in the checkpoint of leader epochs. With one neighbour
it gets the epoch of that, which is the closest possible one. A negative epoch is always wrong.

The epochs next to the file, or those of its ends in the checkpoint, are in the row as well. Old
messages have no epoch (-1), and keep none in a v2 batch: a cleaner or a conversion may have written
it among batches with epochs.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, Offset
from cordwood.records.record_batch import MAGIC
from cordwood.workbench.salvage.offset_chain import longest_chain
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch


def correct_epochs(
    batches: list[SalvagedBatch],
    epoch_for: Callable[[Offset], LeaderEpoch | None],
    *,
    around: tuple[int | None, int | None],
) -> list[SalvagedBatch]:
    """Correct the epochs of a file's batches; a doubtful one gets that of its predecessor.

    `around` are the epochs of the batches before and behind the file, if they are known.
    """
    trusted = [index for index, batch in enumerate(batches) if not batch.is_doubtful]
    corrected = _correct_trusted_epochs(
        [batches[index] for index in trusted], epoch_for, around=around
    )
    for index, batch in zip(trusted, corrected, strict=True):
        batches[index] = batch
    first = next((each.epoch for each in corrected if each.epoch != NO_LEADER_EPOCH), INT32_MAX)
    for index, batch in enumerate(batches):
        if batch.is_doubtful:
            known = epoch_for(Offset(batch.offset)) if not index else batches[index - 1].epoch
            known = around[0] if known is None else known
            own = max(batch.epoch, NO_LEADER_EPOCH)
            right = min(own, first) if known is None else known
            batches[index] = batch._replace(epoch=right)
    return batches


class EpochOrder:
    """The order of a file's epochs: whether they never decrease, batch by batch."""

    __slots__ = ("_around", "_end", "_epoch_for", "_latest")

    def __init__(
        self,
        epoch_for: Callable[[Offset], LeaderEpoch | None],
        *,
        around: tuple[int | None, int | None],
    ) -> None:
        self._epoch_for = epoch_for
        self._around = around
        self._latest: int | None = None
        self._end = 0

    def takes(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch has no epoch, or none below that of the ones before it."""
        if batch.epoch == NO_LEADER_EPOCH:
            return True
        before = self._latest
        if before is None:
            known = self._epoch_for(Offset(batch.offset))
            before = self._around[0] if known is None else known
        self._latest, self._end = batch.epoch, batch.offset
        return max(0, before or 0) <= batch.epoch

    @property
    def is_certain(self) -> bool:
        """Return whether the last epoch is not above the one that follows."""
        if self._latest is None:
            return True
        known = self._epoch_for(Offset(self._end))
        after = self._around[1] if known is None else known
        return after is None or self._latest <= after


class _Row(NamedTuple):
    """The epochs of a file in a row, and the index of each one's batch; None for an end's."""

    epochs: list[int]
    places: list[int | None]


def _correct_trusted_epochs(
    batches: list[SalvagedBatch],
    epoch_for: Callable[[Offset], LeaderEpoch | None],
    *,
    around: tuple[int | None, int | None],
) -> list[SalvagedBatch]:
    """Correct the epochs that are not in the chain, between two that are."""
    row = _row_of(batches, epoch_for, around)
    count = len(row.epochs)
    # Epochs may be equal: the place makes the numbers ascend.
    keys = (
        epoch * count + at if epoch >= NO_LEADER_EPOCH else None
        for at, epoch in enumerate(row.epochs)
    )
    spans = [None if key is None else (key, key) for key in keys]
    right = sorted(longest_chain(spans))
    for at, before, after in _outside(right, count):
        place = row.places[at]
        if place is not None and batches[place].header.magic == MAGIC:
            low = None if before is None else row.epochs[before]
            high = None if after is None else row.epochs[after]
            known = epoch_for(Offset(batches[place].offset))
            batches[place] = _corrected(batches[place], low, high, known=known)
    return batches


def _row_of(
    batches: Sequence[SalvagedBatch],
    epoch_for: Callable[[Offset], LeaderEpoch | None],
    around: tuple[int | None, int | None],
) -> _Row:
    """Return the epochs of batches that have one, between those of the ends.

    Those ends count twice that are more certain than one batch: they are in the checkpoint, or were
    corrected before.
    """
    row = _Row([], [])
    places = [at for at, batch in enumerate(batches) if batch.epoch != NO_LEADER_EPOCH]
    if not places:
        return row
    first, last = (epoch_for(Offset(batches[places[at]].offset)) for at in (0, -1))
    start, end = (around[0] if first is None else first), (around[1] if last is None else last)
    for epoch, place in (
        *((start, None),) * 2,
        *((batches[at].epoch, at) for at in places),
        *((end, None),) * (1 if last is None else 2),
    ):
        if epoch is not None:
            row.epochs.append(epoch)
            row.places.append(place)
    return row


def _outside(right: Sequence[int], count: int) -> Iterator[tuple[int, int | None, int | None]]:
    """Yield the places outside of the chain, and those of the chain around each, if there are."""
    for before, after in pairwise((None, *right, None)):
        for at in range(0 if before is None else before + 1, count if after is None else after):
            yield at, before, after


def _corrected(
    batch: SalvagedBatch, low: int | None, high: int | None, *, known: int | None
) -> SalvagedBatch:
    """Return a batch with the epoch of the checkpoint, or with that of its neighbours."""
    right = high if low is None or low == NO_LEADER_EPOCH else low
    right = low if right is None else right
    right = NO_LEADER_EPOCH if right is None else right
    if known is not None and (low is None or low <= known) and (high is None or known <= high):
        right = known
    repair = f"leader epoch (was {batch.epoch})"
    return batch._replace(epoch=right, repairs=(*batch.repairs, repair))
