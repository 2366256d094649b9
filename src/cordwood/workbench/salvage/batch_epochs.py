"""Leader epochs of salvaged batches, which no checksum covers.

They never decrease. One that decreases, or is too high, gets the epoch of its neighbours, or that
of its offset in the checkpoint of leader epochs. Old messages have no epoch (-1), and keep none in
a v2 batch: a cleaner or a conversion may have written it among batches with epochs.
"""

from collections.abc import Callable

from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, Offset
from cordwood.records.record_batch import MAGIC
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
    for index, batch in enumerate(batches):
        if batch.is_doubtful:
            known = epoch_for(Offset(batch.offset)) if not index else batches[index - 1].epoch
            right = around[0] if known is None else known
            batches[index] = batch if right is None else batch._replace(epoch=right)
    return batches


def _correct_trusted_epochs(
    batches: list[SalvagedBatch],
    epoch_for: Callable[[Offset], LeaderEpoch | None],
    *,
    around: tuple[int | None, int | None],
) -> list[SalvagedBatch]:
    """Correct the epochs that are below or above those of both neighbours."""
    afters = _next_epochs(batches)
    latest: int = NO_LEADER_EPOCH
    for index, batch in enumerate(batches):
        if batch.epoch == NO_LEADER_EPOCH:
            continue
        known = epoch_for(Offset(batch.offset))
        ends = around if known is None else (known, known)
        before = latest if index else ends[0]
        after = ends[1] if afters[index] is None else afters[index]
        if _is_wrong(batch, before, after):
            assert before is not None, "_is_wrong requires it"
            assert after is not None, "_is_wrong requires it"
            right = after if before == NO_LEADER_EPOCH else before
            right = known if known is not None and before <= known else right
            repair = f"leader epoch (was {batch.epoch})"
            batches[index] = batch._replace(epoch=right, repairs=(*batch.repairs, repair))
        latest = batches[index].epoch
    return batches


def _next_epochs(batches: list[SalvagedBatch]) -> list[int | None]:
    """Return for each batch the epoch of the next one that has one; None without such a batch."""
    found: list[int | None] = []
    after = None
    for batch in reversed(batches):
        found.append(after)
        after = after if batch.epoch == NO_LEADER_EPOCH else batch.epoch
    return found[::-1]


def _is_wrong(batch: SalvagedBatch, before: int | None, after: int | None) -> bool:
    if batch.header.magic != MAGIC or before is None or after is None:
        return False
    return before <= after and not before <= batch.epoch <= after
