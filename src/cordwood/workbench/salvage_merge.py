"""One log out of several files whose offsets may overlap, and what the bytes outside say of it.

Files come with a rank: those of segments in their place first, then those under a wrong name. Of
two batches with the same offsets the one of the lower rank is kept, and a whole one before one that
was rebuilt; what is the same batch again is counted, what contradicts is told.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from cordwood.workbench.salvage_chain import Chain, Salvaged
from cordwood.workbench.salvage_report import Loss


class Merged(NamedTuple):
    """The batches of a log in order; `contradicting` are left out, and so were `duplicates`."""

    batches: list[Salvaged]
    contradicting: list[Salvaged]
    duplicates: int


def merge(chains: Sequence[Chain]) -> Merged:
    """Return the log that files hold together; they are given by rank."""
    taken: list[Salvaged] = []
    contradicting = [batch for chain in chains for batch in chain.misfits]
    duplicates = 0
    for is_doubtful, chain in product((False, True), chains):
        meant = [batch for batch in chain.batches if batch.is_doubtful is is_doubtful]
        others = [_overlapped(taken, batch) for batch in meant]
        free = [batch for batch, other in zip(meant, others, strict=True) if not other]
        for batch, other in zip(meant, others, strict=True):
            if other and _is_same(other[0], batch):
                duplicates += 1
            elif other and not is_doubtful:
                contradicting.append(batch)
        taken = sorted([*taken, *free], key=_offset_of)
    return Merged(taken, contradicting, duplicates)


def stretches(files: Iterable[str], chains: Iterable[Chain]) -> list[Loss]:
    """Return what is damaged in all files, in the order of offsets."""
    found = [
        Loss(first, end, damage, file)
        for file, chain in zip(files, chains, strict=True)
        for first, end, damage in chain.damages
    ]
    return sorted(found, key=lambda loss: loss.first)


def _overlapped(taken: Sequence[Salvaged], batch: Salvaged) -> list[Salvaged]:
    """Return those that have an offset of this one."""
    first = bisect_left(taken, batch.offset, key=_last_of)
    stop = bisect_right(taken, batch.last_offset, key=_offset_of)
    return list(taken[first:stop])


def _is_same(one: Salvaged, other: Salvaged) -> bool:
    return (one.offset, one.last_offset, one.header.crc, one.header.size) == (
        other.offset,
        other.last_offset,
        other.header.crc,
        other.header.size,
    )


def _offset_of(batch: Salvaged) -> int:
    return batch.offset


def _last_of(batch: Salvaged) -> int:
    return batch.last_offset
