"""Doubts about the base offsets of batches that are in the chain of their file.

No checksum covers a base offset. Within the bounds of the file it is doubtful (UNJOINED) in these
cases, unless the batch joins a neighbour:

    damage    the batch is next to damage, or to a batch with a wrong offset, and no cleaner has
              worked there
    order     it does not follow, or precede, a damaged batch next to it, by the header of that
    repair    more than a bit of its size or its magic was repaired, which are next to the base
              offset; if bytes are missing there, it is that of another batch, so it has to join
              both neighbours
    witness   a file next to the segment has another offset for it, in the room around it; a joint
              with a neighbour helps only against an index, if the gap has damage; batches that
              join only each other are as doubtful as the one among them
    cut       it is before a gap without damage, and an index shows that bytes are missing there:
              its base offset may be that of a batch that is gone; a joint does not help
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import TypeGuard

from cordwood.records.batch_header import BatchHeader
from cordwood.workbench.salvage.batch_offsets import FileBatches, cleaned_places, is_dense
from cordwood.workbench.salvage.batch_scan import HEADER_REPAIRS
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.offset_witnesses import FreeOffsets
from cordwood.workbench.salvage.salvaged_batch import Trust


def doubt_offsets(batches: FileBatches, right: Collection[int]) -> None:
    """Mark batches whose base offsets are doubtful; `right` are the indexes of those in order."""
    if not batches.found:
        return
    for at in {
        *_unjoined(batches, right),
        *_contradicted(batches, right),
        *_resized(batches, right),
        *_joined_by(batches, right, set(_witnessed(batches, right))),
        *_cut(batches, right),
    }:
        batch = batches.found[at]
        if batch.trust >= Trust.CONFIRMED and batches.bounds.has(batch):
            batches.found[at] = batch._replace(trust=Trust.UNJOINED)


def _unjoined(batches: FileBatches, right: Collection[int]) -> Iterator[int]:
    found = batches.found
    is_cleaned = cleaned_places(batches, right)
    wrong = (at for at, each in enumerate(found) if at not in right or each.trust is Trust.MOVED)
    next_to = batches.damaged_neighbours | {at for each in wrong for at in (each - 1, each + 1)}
    for at in next_to & set(right):
        if not is_cleaned(at) and not batches.is_joined(at, right):
            yield at


def _contradicted(batches: FileBatches, right: Collection[int]) -> Iterator[int]:
    found = batches.found
    for place, damages in batches.damages.items():
        before, after = damages[-1].header, damages[0].header
        if place in right and _is_within(before, batches.bounds):
            last = before.last_offset if is_dense(before) else before.base_offset
            if found[place].offset <= last and not batches.is_joined(place, right):
                yield place
        if place - 1 in right and _is_within(after, batches.bounds):
            last = found[place - 1].last_offset
            if after.base_offset <= last and not batches.is_joined(place - 1, right):
                yield place - 1


def _is_within(header: BatchHeader | None, bounds: FileBounds) -> TypeGuard[BatchHeader]:
    """Return whether the base offset of a damaged batch is possible in its file."""
    return header is not None and (bounds.base or 0) <= header.base_offset < bounds.limit


def _resized(batches: FileBatches, right: Collection[int]) -> Iterator[int]:
    for at in right:
        is_repaired = any(each.startswith(HEADER_REPAIRS) for each in batches.found[at].repairs)
        if is_repaired and not (batches.joins_before(at, right) and batches.joins_after(at, right)):
            yield at


def _witnessed(batches: FileBatches, right: Collection[int]) -> Iterator[int]:
    order, witnesses = sorted(right), batches.bounds.witnesses
    for place, at in enumerate(order):
        first, end = batches.room(order, at, stop=at + 1)
        before = order[place - 1] if place else -1
        after = order[place + 1] if place + 1 < len(order) else len(batches.found)
        is_free = not batches.is_joined(at, right)
        is_certain_before = is_free or _are_adjacent(batches, before, at)
        is_certain_behind = is_free or _are_adjacent(batches, at, after)
        room = FreeOffsets(first, end, is_certain_before, is_certain_behind)
        if witnesses.contradict(batches.found[at], room):
            yield at


def _joined_by(
    batches: FileBatches, right: Collection[int], doubted: Collection[int]
) -> Iterator[int]:
    """Yield some batches, and those that join only them, directly or by others."""
    for at in (each for each in doubted if batches.found[each].trust >= Trust.CONFIRMED):
        first = last = at
        while first - 1 in right and batches.joins_before(first, right):
            first -= 1
        while last + 1 in right and batches.joins_after(last, right):
            last += 1
        is_alone = not (batches.joins_before(first, right) or batches.joins_after(last, right))
        yield from range(first, last + 1) if is_alone else (at,)


def _cut(batches: FileBatches, right: Collection[int]) -> Iterator[int]:
    found, indexed = batches.found, batches.bounds.witnesses.indexed
    gaps: list[int] = []
    missing = 0
    for before, at in pairwise(sorted(right)):
        if _are_adjacent(batches, before, at) and found[before].next_offset < found[at].offset:
            gaps.append(before)
        more = indexed.missing_bytes(found[at])
        if more > missing:
            yield from gaps
            gaps, missing = [], more


def _are_adjacent(batches: FileBatches, before: int, at: int) -> bool:
    """Return whether neither damage nor another batch is between two batches."""
    return at == before + 1 and at not in batches.damages
