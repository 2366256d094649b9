"""Order of the batches of a file in which one stands at the place of another one.

If the offsets of a batch fill a hole between two other ones exactly, its offsets are right, and its
place in the file is wrong. Without a damaged range between both places, it gets the place back. But
if a batch stands there that has no other place, both have wrong offsets. If a cleaner has left room
for the batch where it stands, its offsets may be the wrong ones.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust


def restore_order(
    found: list[SalvagedBatch],
    chain: Collection[int],
    *,
    ends: tuple[int | None, Collection[int]],
    damages: Collection[int],
) -> None:
    """Put batches outside of the chain where their offsets belong.

    `ends` are the base offset of the file and the offsets where it may end. The damaged ranges are
    before the batches with the indexes `damages`.
    """
    order, breaks = sorted(chain), sorted(damages)
    places: dict[int, int] = {}
    for at, batch in enumerate(found):
        if at not in chain and batch.trust >= Trust.CONFIRMED:
            place = _hole(found, order, batch, ends)
            if place is None or _has_room(found, order, at):
                continue
            if not _are_between(breaks, at, place):
                places[at] = place
    places = {
        at: place
        for at, place in places.items()
        if all(each in chain or each in places for each in _standing(found, order, place))
    }
    if not places:
        return
    rows = sorted(range(len(found)), key=lambda at: (places.get(at, at), at not in places))
    found[:] = [_put_back(found[at]) if at in places else found[at] for at in rows]


def _hole(
    found: Sequence[SalvagedBatch],
    order: Sequence[int],
    batch: SalvagedBatch,
    ends: tuple[int | None, Collection[int]],
) -> int | None:
    """Return the index before which a batch fills a hole of the chain exactly, None without one."""
    at = bisect_left(order, batch.offset, key=lambda index: found[index].offset)
    before = found[order[at - 1]].next_offset if at else ends[0]
    after = {found[order[at]].offset} if at < len(order) else ends[1]
    is_hole = before == batch.offset and batch.next_offset in after
    return (order[at - 1] + 1 if at else 0) if is_hole else None


def _has_room(found: Sequence[SalvagedBatch], order: Sequence[int], at: int) -> bool:
    """Return whether the batches of the chain around a place leave room for the batch there."""
    after = bisect_left(order, at)
    if not 0 < after < len(order):
        return False
    room = found[order[after]].offset - found[order[after - 1]].next_offset
    return room >= found[at].next_offset - found[at].offset


def _standing(found: Sequence[SalvagedBatch], order: Sequence[int], place: int) -> Iterator[int]:
    """Yield the certain batches that stand in the hole before which a batch of the chain ends."""
    after = bisect_left(order, place)
    stop = order[after] if after < len(order) else len(found)
    yield from (at for at in range(place, stop) if found[at].trust >= Trust.CONFIRMED)


def _are_between(breaks: Sequence[int], at: int, place: int) -> bool:
    """Return whether there is a damaged range between two places, their own sides included."""
    first, last = min(at, place), max(at + 1, place)
    return bisect_left(breaks, first) != bisect_left(breaks, last + 1)


def _put_back(batch: SalvagedBatch) -> SalvagedBatch:
    return batch._replace(repairs=(*batch.repairs, "place in the file"))
