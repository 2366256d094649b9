"""Base offsets of the whole batches of a log file, which no checksum covers.

A batch proves its own contents, and not its place. The place is decided by the batches around it:

    joint    a batch continues the offsets of the one directly before it in the file, or the one
             directly behind continues its own; the base offset of the file and the end of the log
             count as neighbours, and so does a damaged batch whose header is readable
    chain    of the batches to which sizes lead, the longest ascending chain has the right offsets,
             with the fewest batches that an epoch or a snapshot contradicts if several are as
             long, and then with the most joints
    limits   the base offset of the file and that of the next one; without a next file, an end named
             elsewhere (`marks`): a producer snapshot or a checkpoint; a batch across the base
             offset is outside of the chain, unless it joins the one behind it

Rules, in this order:

    1  a batch outside of the chain that fills the space between its neighbours exactly is corrected
    2  one next to damage gets the offsets next to its other neighbour, and is doubtful (MOVED); it
       is corrected with certainty if the header of the damaged batch agrees; without room for it
       among cleaned offsets, the neighbour is moved instead, if it joins none
    3  one that batches behind damage contradict, and that joins neither neighbour, is outside of
       the chain: without a cleaner, offsets have no gaps; so is one that overlaps a damaged batch
       whose header joins the batch before it
    4  any other one is left out, and its place is lost; `offset_doubts` has the rules by which one
       in the chain is doubtful

Batches with less trust than sizes give are placed between the others afterwards, and never reach
the base offset of the next file. Rebuilt ones whose offsets join come first, then those that a
search has found, then the other rebuilt ones. Offsets of v0 and v1 batches are checked but not
corrected, since a wrapper does not contain its number of offsets.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import chain, pairwise, zip_longest
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.records.batch_header import BatchHeader
from cordwood.records.record_batch import MAGIC
from cordwood.workbench.salvage.batch_order import restore_order
from cordwood.workbench.salvage.batch_run import cleaned_end
from cordwood.workbench.salvage.batch_scan import DamagedRange
from cordwood.workbench.salvage.file_bounds import FileBounds, OffsetOrder
from cordwood.workbench.salvage.offset_chain import ChainEnds, longest_chain
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust

#: More consecutive batches than these, up to the end of a file, are not in a value.
MANY: Final = 3


class FileBatches(NamedTuple):
    """The batches of a file by position, and its damaged ranges by the index of the next batch.

    A range from which a batch was rebuilt has the index of that batch.
    """

    found: list[SalvagedBatch]
    bounds: FileBounds
    damages: Mapping[int, Sequence[DamagedRange]]

    def joins_before(self, at: int, right: Collection[int]) -> bool:
        """Return whether a batch continues what is directly before it."""
        offset = self.found[at].offset
        if at in self.damages:
            header = self.damages[at][-1].header
            return header is not None and header.next_offset == offset
        if not at:
            return self.bounds.base is None or self.bounds.base == offset
        return self._is_known(at - 1, right) and self.found[at - 1].next_offset == offset

    def joins_after(self, at: int, right: Collection[int]) -> bool:
        """Return whether a batch is continued by what is directly behind it."""
        end = self.found[at].next_offset
        if at + 1 in self.damages:
            header = self.damages[at + 1][0].header
            return header is not None and header.base_offset == end
        if at + 1 == len(self.found):
            return end in self.bounds.ends
        return self._is_known(at + 1, right) and self.found[at + 1].offset == end

    def damaged_end(self, at: int, right: Collection[int]) -> int | None:
        """Return the end of the damaged batch directly before a batch, None if it is not known.

        It is known if the header of the damaged batch joins the batch before that, and has as many
        records as offsets: damage of one of these fields would show.
        """
        is_rebuilt = at > 0 and self.found[at - 1].trust is Trust.REBUILT
        place = at - 1 if is_rebuilt else at
        ranges = self.damages.get(place, ())
        header = ranges[0].header if len(ranges) == 1 else None
        if header is None or (at in self.damages and is_rebuilt) or not is_dense(header):
            return None
        start = self.found[place - 1].next_offset if place else self.bounds.base
        is_known = header.base_offset == start and (not place or self._is_known(place - 1, right))
        return header.next_offset if is_known else None

    def _is_known(self, at: int, right: Collection[int]) -> bool:
        """Return whether a batch has its own offsets, or those that it certainly had."""
        return at in right and self.found[at].trust is not Trust.MOVED

    def is_joined(self, at: int, right: Collection[int]) -> bool:
        """Return whether a batch joins a neighbour."""
        return self.joins_before(at, right) or self.joins_after(at, right)

    def room(self, order: Sequence[int], start: int, *, stop: int) -> tuple[int, int | None]:
        """Return the offsets around a range of places; the second one is excluded.

        They are those of the nearest batches whose indexes are in `order`, which ascends.
        """
        before, after = bisect_left(order, start), bisect_left(order, stop)
        return (
            self.found[order[before - 1]].next_offset if before else self.bounds.base or 0,
            self.found[order[after]].offset if after < len(order) else self.bounds.following,
        )

    @property
    def damaged_neighbours(self) -> set[int]:
        """The indexes of the batches next to damage, and that of the last one of the log.

        If no end of the log is known, nothing contradicts the last one.
        """
        found = {at for place in self.damages for at in (place - 1, place)}
        last = len(self.found) - 1
        if self.bounds.following is None and last + 1 not in self.damages:
            (found.add if self.bounds.ends else found.discard)(last)
        return found & set(range(last + 1))


def place_batches(batches: FileBatches) -> Collection[int]:
    """Correct the base offsets in the list of batches; return the indexes of those that fit."""
    if not batches.found:
        return ()
    order, bounds = OffsetOrder(batches.bounds), batches.bounds
    if not batches.damages and all(map(order.takes, batches.found)) and order.is_certain:
        return range(len(batches.found))
    given = _chain_of_trusted(batches)
    if len(given) < len(batches.found):
        ends = bounds.base, bounds.ends
        restore_order(batches.found, set(given), ends=ends, damages=batches.damages)
    _correct_offsets(batches)
    right = set(_chain_of_trusted(batches))
    is_cleaned = cleaned_places(batches, right)
    right -= set(_contradicted(batches, right, is_cleaned))
    _move_displaced(batches, right, is_cleaned)
    _add_doubtful(batches, right)
    return right


def cleaned_places(batches: FileBatches, right: Collection[int]) -> Callable[[int], bool]:
    """Return a predicate: whether a cleaner has worked up to a batch, as the others show it."""
    found = batches.found
    ends = ((cleaned_end((found[at],)), at) for at in right)
    (first, place), (second, _) = nlargest(2, chain([(0, -1), (0, -1)], ends))
    known = batches.bounds.cleaned_to
    return lambda at: 0 < max(known, second if at == place else first) >= found[at].offset


def _chain_of_trusted(batches: FileBatches) -> Collection[int]:
    """Return the indexes of the longest chain of those batches to which sizes lead."""
    found = batches.found
    if not batches.damages:
        return _longest_chain(found, batches.bounds)
    row: list[int | None] = []
    for at in range(len(found) + 1):
        if at in batches.damages:
            row.append(None)
        if at < len(found) and found[at].trust >= Trust.CONFIRMED:
            row.append(at)
    picked = _longest_chain([None if at is None else found[at] for at in row], batches.bounds)
    return {at for at in (row[place] for place in picked) if at is not None}


def _contradicted(
    batches: FileBatches, right: Collection[int], is_cleaned: Callable[[int], bool]
) -> Iterator[int]:
    """Yield the batches next to damage that those on the other side contradict, by rule 3."""
    found, bounds = batches.found, batches.bounds
    order = sorted(right)
    for at in right:
        damaged_end = batches.damaged_end(at, right)
        if (
            damaged_end is not None
            and found[at].offset < damaged_end
            and not batches.joins_after(at, right)
        ):
            yield at
    for at in (place - 1 for place in batches.damages):
        if at not in right or at in batches.damages or batches.is_joined(at, right):
            continue
        if at - 1 not in right and (at or bounds.base is None):
            continue
        batch = found[at]
        if bounds.has(batch) and is_cleaned(at):
            continue
        end = batches.room(order, at, stop=at)[0] + _width(batch)
        after = bisect_right(order, at)
        behind = found[at + 1 : order[after] if after < len(order) else len(found)]
        if any(end <= each.offset < batch.next_offset and bounds.has(each) for each in behind):
            yield at


def _move_displaced(
    batches: FileBatches, right: set[int], is_cleaned: Callable[[int], bool]
) -> None:
    """Put batches outside of the chain next to a neighbour, by rule 2; add them to `right`.

    Without room for one of them, the neighbour may be the wrong one. Where a cleaner has left gaps,
    no joint shows which, and the neighbour is moved.
    """
    same = {(batches.found[at].offset, batches.found[at].header.crc) for at in right}
    order = sorted(right)
    for at, batch in enumerate(batches.found):
        is_copy = (batch.offset, batch.header.crc) in same
        if at in right or is_copy or not _is_movable(batches, at, right):
            continue
        offset, place = _moved_offset(batches, at, order), at
        if offset is None and is_cleaned(at):
            offset, place = _exchanged(batches, at, order, right=right)
        if offset is not None:
            right.add(at)
            insort(order, at)
            _move(batches, place, offset, right)


def _move(batches: FileBatches, at: int, offset: int, right: Collection[int]) -> None:
    """Give a batch another base offset, which is certain if it joins both neighbours."""
    found, batch = batches.found, batches.found[at]
    found[at] = batch._replace(offset=offset)
    if batches.joins_before(at, right) and batches.joins_after(at, right):
        repair = f"base offset (was {batch.offset})"
        found[at] = found[at]._replace(repairs=(*batch.repairs, repair))
    else:
        found[at] = found[at]._replace(trust=Trust.MOVED)


def _exchanged(
    batches: FileBatches, at: int, order: Sequence[int], *, right: Collection[int]
) -> tuple[int | None, int]:
    """Return the new base offset of a neighbour that makes room for a batch, and its index."""
    batch = batches.found[at]
    for other in (at - 1, at + 1):
        if other not in right or not _is_movable(batches, other, right):
            continue
        place = bisect_left(order, other)
        rest = [*order[:place], *order[place + 1 :]]
        start, end = batches.room(rest, at, stop=at + 1)
        if start <= batch.offset and (end is None or batch.next_offset <= end):
            insort(rest, at)
            offset = _moved_offset(batches, other, rest)
            if offset is not None:
                return offset, other
    return None, at


def _is_movable(batches: FileBatches, at: int, right: Collection[int]) -> bool:
    """Return whether a batch may have got a wrong base offset: that of its neighbours differ.

    Batches that join each other are from elsewhere. A batch that a search has found is one of the
    log if the sizes from it on lead to those of the log.
    """
    found = batches.found
    batch = found[at]
    if batch.header.magic != MAGIC or batches.is_joined(at, range(len(found))):
        return False
    is_led_on = at + 1 in right and at + 1 not in batches.damages
    is_whole = batch.trust is Trust.FOUND and is_led_on and found[at + 1].trust > Trust.REBUILT
    return batch.trust >= Trust.CONFIRMED or is_whole


def _moved_offset(batches: FileBatches, at: int, order: Sequence[int]) -> int | None:
    """Return the base offset of a batch next to a neighbour; None without one, or without room.

    `order` has the indexes of the right batches, which ascend.
    """
    found, bounds = batches.found, batches.bounds
    start, end = batches.room(order, at, stop=at + 1)
    place = bisect_left(order, at)
    damaged_end = batches.damaged_end(at, order[max(0, place - 1) : place])
    start = max(start, damaged_end or 0)
    width = _width(found[at])
    if start + width > (INT64_MAX if end is None else end):
        return None
    has_before = order[place - 1] == at - 1 if place else not at and bounds.base is not None
    if damaged_end is not None or (has_before and at not in batches.damages):
        return start
    has_after = order[place] == at + 1 if place < len(order) else at + 1 == len(found)
    if has_after and at + 1 not in batches.damages and end is not None:
        return end - width
    return None


def is_dense(header: BatchHeader) -> bool:
    """Return whether a header has as many records as offsets."""
    if header.magic != MAGIC:
        return not header.codec_id
    return header.record_count == header.next_offset - header.base_offset


def _width(batch: SalvagedBatch) -> int:
    return batch.next_offset - batch.offset


# -- exact corrections


def _correct_offsets(batches: FileBatches) -> None:
    """Correct the offsets of batches that fill the space between their neighbours, by rule 1."""
    found, bounds = batches.found, batches.bounds
    # Batches whose offsets are right; those of the others prove nothing about their neighbours.
    fitting = _chain_of_trusted(batches)
    right = fitting if isinstance(fitting, range) else set(fitting)
    if isinstance(right, set):
        _add_doubtful(batches, right)
    places = sorted(batches.damages)
    for start, stop in _doubtful_runs(found, right, bounds):
        before = found[start - 1].next_offset if start else bounds.base
        after = found[stop].offset if stop < len(found) else bounds.following
        place = bisect_left(places, start)
        is_whole = place == len(places) or places[place] > stop
        if (
            before is not None
            and is_whole
            and _renumber(batches, (start, stop), before, after=after, right=right)
            and isinstance(right, set)
        ):
            right.update(range(start, stop))


def _renumber(
    batches: FileBatches,
    run: tuple[int, int],
    before: int,
    *,
    after: int | None,
    right: Collection[int],
) -> bool:
    """Number a run of batches consecutively from `before` on, if they fill the space exactly.

    Return whether they do.
    """
    found, marks = batches.found, batches.bounds.marks
    start, stop = run
    widths = [_width(batch) for batch in found[start:stop]]
    end = before + sum(widths)
    is_led = all(batch.trust is Trust.LED for batch in found[start:stop])
    is_last = stop == len(found) and after is None and is_led
    if any(batch.header.magic != MAGIC for batch in found[start:stop]):
        return False
    is_all = stop - start == len(found) and found[start].offset < before
    if is_all and end != after and end not in marks:
        return False  # the name of the file may be wrong as well
    goes_back = (
        _goes_back(found, start, before)
        and not batches.bounds.ends
        and (not start or batches.joins_before(start - 1, right))
    )
    if end != after and not (is_last and (end in marks or goes_back)):
        return False
    for index, width in zip(range(start, stop), widths, strict=True):
        batch = found[index]
        repair = f"base offset (was {batch.offset})"
        found[index] = batch._replace(offset=before, repairs=(*batch.repairs, repair))
        before += width
    return True


def _goes_back(found: list[SalvagedBatch], start: int, before: int) -> bool:
    """Return whether a run at the end of the log is below its predecessor, or too far above it."""
    return not before <= found[start].offset <= before + INT32_MAX


def _doubtful_runs(
    found: Sequence[SalvagedBatch], right: Collection[int], bounds: FileBounds
) -> Iterator[tuple[int, int]]:
    """Yield the runs of batches that are not `right`, and single ones that overlap neighbours."""
    start = 0
    while start < len(found):
        stop = start
        while stop < len(found) and stop not in right:
            stop += 1
        if stop > start:
            yield start, stop
        elif (not start or start - 1 in right) and _overlaps(found, start, bounds):
            stop = start + 1
            yield start, stop
        start = max(stop, start + 1)


def _overlaps(found: Sequence[SalvagedBatch], index: int, bounds: FileBounds) -> bool:
    batch = found[index]
    before = found[index - 1].next_offset if index else bounds.base
    is_last = index + 1 == len(found)
    after = bounds.following if is_last else found[index + 1].offset
    is_unmarked = is_last and after is None and batch.next_offset not in bounds.marks
    return (
        (before is not None and batch.offset < before)
        or (after is not None and batch.next_offset > after)
        or (is_unmarked and before is not None and batch.offset > before)
    )


# -- the chain


def _add_doubtful(batches: FileBatches, right: set[int]) -> None:
    """Add the batches of less trust to the right ones, where they fit between them.

    The header of a rebuilt batch may be damaged too, so its offsets count only if they join.
    """
    found, bounds = batches.found, batches.bounds
    joined: set[int] = set()
    others: set[int] = set()
    for at in (at for at, each in enumerate(found) if each.trust is Trust.REBUILT):
        is_next = len(batches.damages[at]) == 1 and (not at or at - 1 in right or at - 1 in joined)
        before = found[at - 1].next_offset if at else bounds.base
        joins_before = is_next and before == found[at].offset
        (joined if joins_before or batches.joins_after(at, right) else others).add(at)
    searched = {at for at, each in enumerate(found) if each.trust is Trust.FOUND}
    for own in filter(None, (joined, searched, others)):
        right |= _fitting_of(own, batches, right)


def _fitting_of(given: Collection[int], batches: FileBatches, kept: Collection[int]) -> set[int]:
    """Return those of the given indexes whose batches fit between the kept ones."""
    found, bounds = batches.found, batches.bounds
    chosen: set[int] = set()
    places = sorted(kept)
    for before, after in pairwise([-1, *places, len(found)]):
        own = [at for at in range(before + 1, after) if at in given]
        low = found[before].last_offset if before >= 0 else -1
        high = found[after].offset if after < len(found) else bounds.following
        high = INT64_MAX if high is None else high
        spans = [found[at].span if _is_within(found[at], low, high) else None for at in own]
        chosen |= {own[at] for at in longest_chain(spans)}
    return chosen


def _is_within(batch: SalvagedBatch, low: int, high: int) -> bool:
    return batch.offset > low and batch.last_offset < high


def _is_possible(batch: SalvagedBatch, base: int, behind: SalvagedBatch | None) -> bool:
    """Return whether the offsets are not negative, and there is one behind them.

    A batch that begins before the base offset of its file, and ends behind it, has a wrong one.
    If it joins the batch behind it, the name of the file is wrong.
    """
    is_joined = behind is not None and behind.offset == batch.next_offset
    is_across = batch.offset < base <= batch.last_offset and not is_joined
    return 0 <= batch.offset <= batch.last_offset < INT64_MAX and not is_across


def _longest_chain(found: Sequence[SalvagedBatch | None], bounds: FileBounds) -> Collection[int]:
    """Return the indexes of the longest ascending chain of batches; None stands for damage.

    Batches beyond the next file's base offset or the reach of a segment are excluded. They are not
    if all are beyond, or more than half that join each other. Those below the file's own base
    offset have to come first.
    """
    low = bounds.base or 0
    spans = [
        batch.span if batch and _is_possible(batch, low, behind) else None
        for batch, behind in zip_longest(found, found[1:])
    ]
    high = bounds.limit
    within = [span if span and low <= span[1] < high else None for span in spans]
    has_old = any(each and each.header.magic != MAGIC for each in found)
    known_ends = {*bounds.marks, bounds.following or -1}
    contradicted = {at for at, each in enumerate(found) if each and bounds.contradicts(each)}
    ends = ChainEnds(bounds.base, known_ends, needs_room=has_old, contradicted=contradicted)
    outside = [each for each, span in zip(found, within, strict=True) if each and not span]
    count = sum(each is not None for each in found)
    is_misnamed = len(outside) * 2 > count and are_joined(outside)
    if is_misnamed or len(outside) == count:
        return longest_chain(spans, ends)
    fitting = longest_chain(within, ends)
    if isinstance(fitting, range):
        return fitting
    picked = set(fitting)
    first = min(picked, default=0)
    # The name of the file may be too high for its first batches.
    start = within[first] if picked else None
    limit = low if start is None else min(low, start[0])
    early = [span if span and span[1] < limit else None for span in spans[:first]]
    return picked | set(longest_chain(early))


def are_joined(batches: Sequence[SalvagedBatch]) -> bool:
    """Return whether there are several batches, and most of them join the next one."""
    joints = sum(one.next_offset == other.offset for one, other in pairwise(batches))
    return len(batches) > MANY and joints * 2 > len(batches)
