"""Merge of several files with overlapping offsets into one log.

Files are ordered by rank: segments under their own names first, files with other names last. Of two
batches with the same offsets, the one from the lower rank is kept, and a whole batch wins over a
rebuilt one. Duplicates are counted, contradicting batches are reported.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from cordwood.workbench.salvage.batch_chain import BatchChain, SalvagedBatch
from cordwood.workbench.salvage.salvage_report import DamagedOffsets


class MergedLog(NamedTuple):
    """The batches of a log in order, without `contradicting` batches and `duplicates`."""

    batches: list[SalvagedBatch]
    contradicting: list[SalvagedBatch]
    duplicates: int


def merge_chains(chains: Sequence[BatchChain]) -> MergedLog:
    """Return the log of several files; the chains are ordered by rank."""
    accepted: list[SalvagedBatch] = []
    contradicting = [batch for chain in chains for batch in chain.misfits]
    duplicates = 0
    for is_doubtful, chain in product((False, True), chains):
        candidates = [batch for batch in chain.batches if batch.is_doubtful is is_doubtful]
        others = [_find_overlaps(accepted, batch) for batch in candidates]
        free = [batch for batch, other in zip(candidates, others, strict=True) if not other]
        for batch, other in zip(candidates, others, strict=True):
            if other and _is_same(other[0], batch):
                duplicates += 1
            elif other and not is_doubtful:
                contradicting.append(batch)
        accepted = sorted([*accepted, *free], key=_offset_of)
    return MergedLog(accepted, contradicting, duplicates)


def damaged_offsets(files: Iterable[str], chains: Iterable[BatchChain]) -> list[DamagedOffsets]:
    """Return the damaged ranges of all files, in the order of offsets."""
    found = [
        DamagedOffsets(first, end, damage, file)
        for file, chain in zip(files, chains, strict=True)
        for first, end, damage in chain.damages
    ]
    return sorted(found, key=lambda loss: loss.first)


def _find_overlaps(accepted: Sequence[SalvagedBatch], batch: SalvagedBatch) -> list[SalvagedBatch]:
    """Return the accepted batches that share an offset with this one."""
    first = bisect_left(accepted, batch.offset, key=_last_of)
    stop = bisect_right(accepted, batch.last_offset, key=_offset_of)
    return list(accepted[first:stop])


def _is_same(one: SalvagedBatch, other: SalvagedBatch) -> bool:
    return (one.offset, one.last_offset, one.header.crc, one.header.size) == (
        other.offset,
        other.last_offset,
        other.header.crc,
        other.header.size,
    )


def _offset_of(batch: SalvagedBatch) -> int:
    return batch.offset


def _last_of(batch: SalvagedBatch) -> int:
    return batch.last_offset
