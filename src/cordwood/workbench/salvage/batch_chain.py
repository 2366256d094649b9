"""Order of the whole batches of a damaged log file, by the fields that no checksum covers.

    offsets   ascend from batch to batch; if some do not, the longest ascending chain is correct
              a batch with a damaged offset that fits exactly between its neighbours gets it back
              limits are the base offset of the file and the base offset of the next one; without a
              next file, an end named elsewhere (`marks`): a producer snapshot or a checkpoint
    epochs    never decrease; one that decreases, or is too high, gets the epoch of its neighbours

Batches that fit nowhere are reported and not salvaged. Offsets of v0 and v1 batches are checked but
not corrected, since a wrapper does not contain its number of offsets.

Batches are placed in the order of trust: first those to which the sizes of the file lead, and only
then, between them, those that a search has found. Such a batch never reaches the base offset of the
next file.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.records.batch_header import read_header as header_of
from cordwood.records.record_batch import MAGIC
from cordwood.storage.reader.offset_gaps import has_start_offset
from cordwood.workbench.file_window import FileWindow
from cordwood.workbench.salvage.batch_scan import DamagedRange, Piece, WholeBatch
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust, wrapper_start

#: More consecutive batches than these, up to the end of a file, are not in a value.
MANY: Final = 3


class FileBounds(NamedTuple):
    """The limits of a file: its base offset, that of the next file, and offsets of known ends."""

    base: int | None = None
    following: int | None = None
    marks: frozenset[int] = frozenset()


class BatchChain(NamedTuple):
    """The batches of a file in order, those that fit nowhere, and the damaged ranges.

    Each damaged range has the offsets it lies between; the second one is exclusive.
    """

    batches: list[SalvagedBatch]
    misfits: list[SalvagedBatch]
    damages: list[tuple[int, int | None, DamagedRange]]


def build_chain(
    file: str,
    pieces: Iterable[Piece],
    *,
    window: FileWindow,
    bounds: FileBounds,
    epoch_for: Callable[[Offset], LeaderEpoch | None],
) -> BatchChain:
    """Return the batches of a file in order; `window` is that of the file."""
    found: list[SalvagedBatch] = []
    damages: list[tuple[int, DamagedRange]] = []
    trust = Trust.LED
    for piece in pieces:
        if isinstance(piece, DamagedRange):
            damages.append((len(found), piece))
            trust = Trust.FOUND if piece.was_searched else trust
        batch = _salvage(file, piece, window=window, trust=trust)
        if batch is not None:
            found.append(batch)
    found = _confirm(found, damages, bounds)
    marked = frozenset(index for index, _ in damages)
    found = _correct_offsets(found, bounds, marked)
    fitting = _fitting(found, bounds)
    kept, misfits = _split(found, fitting, bounds)
    places = [
        _surrounding_offsets(found, kept, bounds, (index, index + (damage.rebuilt is not None)))
        for index, damage in damages
    ]
    return BatchChain(
        _correct_epochs([found[index] for index in sorted(kept)], epoch_for),
        misfits,
        [(*place, damage) for place, (_, damage) in zip(places, damages, strict=True)],
    )


def _salvage(file: str, piece: Piece, *, window: FileWindow, trust: Trust) -> SalvagedBatch | None:
    """Return the batch of a piece, None if nothing of it is readable."""
    if isinstance(piece, WholeBatch):
        header, data = piece.header, piece.mended
        offset = header.base_offset
        if not has_start_offset(header):
            data_or_view = data or window.view(header.position, header.size)
            offset = wrapper_start(data_or_view, offset)
        epoch = header.partition_leader_epoch
        return SalvagedBatch(
            file, header, data, piece.repairs, offset, epoch, None, piece.marker, trust
        )
    if piece.rebuilt is None:
        return None
    header = _header(piece.rebuilt.data, piece.position)
    return SalvagedBatch(
        file,
        header,
        piece.rebuilt.data,
        (),
        header.base_offset,
        header.partition_leader_epoch,
        piece.rebuilt.offsets,
        trust=Trust.REBUILT,
    )


def _are_consecutive(batches: Sequence[SalvagedBatch]) -> bool:
    """Return whether there are several batches, without a gap between their offsets."""
    return len(batches) > MANY and all(
        one.next_offset == other.offset for one, other in pairwise(batches)
    )


def _confirm(
    found: list[SalvagedBatch],
    damages: Sequence[tuple[int, DamagedRange]],
    bounds: FileBounds,
) -> list[SalvagedBatch]:
    """Confirm the batches from which the sizes lead to the end of the file, if their offsets join.

    They join the end of the batch that was damaged, a batch before it, the base offset of the next
    file, or an end that is named elsewhere. Without any such end, they are consecutive.
    """
    searched = [(index, damage) for index, damage in damages if damage.was_searched]
    if not searched:
        return found
    start, damage = searched[-1]
    start += damage.rebuilt is not None
    if start >= len(found):
        return found
    first, last = found[start], found[-1]
    ends = {0 if bounds.following is None else bounds.following, *bounds.marks} - {0}
    header = damage.header
    joins = (
        last.next_offset in ends
        or (header is not None and header.last_offset + 1 == first.offset)
        or (found[start - 1].next_offset if start else bounds.base) == first.offset
        or (not ends and _are_consecutive(found[start:]))
    )
    if not joins:
        return found
    return [
        each._replace(trust=Trust.CONFIRMED)
        if index >= start and each.trust is Trust.FOUND
        else each
        for index, each in enumerate(found)
    ]


def _header(data: bytes, position: int) -> BatchHeader:
    header = header_of(data, position=position)
    assert header is not None, "a rebuilt batch is whole"
    return header


# -- offsets


def _correct_offsets(
    found: list[SalvagedBatch], bounds: FileBounds, gaps: Collection[int]
) -> list[SalvagedBatch]:
    """Correct the offsets of batches that fit exactly between their neighbours."""
    if not found:
        return found
    fitting = _fitting(found, bounds)
    for start, stop in _doubtful_runs(found, fitting, bounds):
        before = found[start - 1].next_offset if start else bounds.base
        after = found[stop].offset if stop < len(found) else bounds.following
        is_whole = not any(start <= gap <= stop for gap in gaps)
        if before is not None and is_whole:
            _renumber(found, (start, stop), before, after=after, marks=bounds.marks)
    return found


def _renumber(
    found: list[SalvagedBatch],
    run: tuple[int, int],
    before: int,
    *,
    after: int | None,
    marks: Collection[int],
) -> None:
    """Number a run of batches consecutively from `before` on, if they fill the space exactly."""
    start, stop = run
    widths = [batch.next_offset - batch.offset for batch in found[start:stop]]
    end = before + sum(widths)
    is_led = all(batch.trust is Trust.LED for batch in found[start:stop])
    is_last = stop == len(found) and after is None and is_led
    if any(batch.header.magic != MAGIC for batch in found[start:stop]):
        return
    is_all = stop - start == len(found) and found[start].offset < before
    if is_all and end != after and end not in marks:
        return  # the name of the file may be wrong as well
    if end != after and not (is_last and (end in marks or _goes_back(found, start, before))):
        return
    for index, width in zip(range(start, stop), widths, strict=True):
        batch = found[index]
        repair = f"base offset (was {batch.offset})"
        found[index] = batch._replace(offset=before, repairs=(*batch.repairs, repair))
        before += width


def _goes_back(found: list[SalvagedBatch], start: int, before: int) -> bool:
    """Return whether a run at the end of the log is below its predecessor, or too far above it."""
    return not before <= found[start].offset <= before + INT32_MAX


def _doubtful_runs(
    found: Sequence[SalvagedBatch], fitting: Collection[int], bounds: FileBounds
) -> Iterator[tuple[int, int]]:
    """Yield the runs of batches that do not fit, and single batches that overlap neighbours."""
    start = 0
    while start < len(found):
        stop = start
        while stop < len(found) and stop not in fitting:
            stop += 1
        if stop > start:
            yield start, stop
        elif _overlaps(found, start, bounds):
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


def _split(
    found: Sequence[SalvagedBatch], fitting: Collection[int], bounds: FileBounds
) -> tuple[set[int], list[SalvagedBatch]]:
    """Return the indexes of the batches in order, and the batches that do not fit."""
    kept: set[int] = set()
    end = 0
    for trusted in (True, False):
        for index, batch in enumerate(found):
            if trusted is batch.is_doubtful or index not in fitting:
                continue
            if trusted and batch.offset >= end:
                kept.add(index)
                end = batch.next_offset
            elif not trusted and _has_room(found, kept, index, bounds):
                kept.add(index)
    return kept, [batch for index, batch in enumerate(found) if index not in kept]


def _has_room(
    found: Sequence[SalvagedBatch], kept: Collection[int], index: int, bounds: FileBounds
) -> bool:
    """Return whether a batch fits between the kept batches around it."""
    after, before = _surrounding_offsets(found, kept, bounds, (index, index + 1))
    batch = found[index]
    return batch.offset >= after and (before is None or batch.next_offset <= before)


def _fitting(found: Sequence[SalvagedBatch], bounds: FileBounds) -> Collection[int]:
    """Return the indexes of the batches whose offsets ascend, the most trusted ones first.

    Of those to which sizes lead, the longest ascending chain fits; those of less trust have to lie
    between its offsets, and below the base offset of the next file.
    """
    if all(batch.trust is Trust.LED for batch in found):
        return _longest_chain(found, bounds)
    kept: set[int] = set()
    for trust in sorted({batch.trust for batch in found}, reverse=True):
        kept |= _fitting_of(trust, found, bounds, kept)
    return kept


def _fitting_of(
    trust: Trust, found: Sequence[SalvagedBatch], bounds: FileBounds, kept: Collection[int]
) -> set[int]:
    """Return the indexes of the batches of a trust that fit between the kept ones."""
    chosen: set[int] = set()
    places = sorted(kept)
    for before, after in pairwise([-1, *places, len(found)]):
        own = [at for at in range(before + 1, after) if found[at].trust is trust]
        if trust is Trust.LED:
            picked = _longest_chain([found[at] for at in own], bounds)
        else:
            low = found[before].last_offset if before >= 0 else -1
            high = found[after].offset if after < len(found) else bounds.following
            numbers = [
                found[at].last_offset if _is_within(found[at], low, high) else -1 for at in own
            ]
            picked = _longest_ascending(numbers)
        chosen |= {own[at] for at in picked}
    return chosen


def _is_within(batch: SalvagedBatch, low: int, high: int | None) -> bool:
    return batch.offset > low and (high is None or batch.last_offset < high)


def _longest_chain(found: Sequence[SalvagedBatch], bounds: FileBounds) -> Collection[int]:
    """Return the indexes of the longest ascending chain of batches.

    Batches beyond the next file's base offset or the reach of a segment are excluded, unless they
    are more than half of all. Those below the file's own base offset have to come first.
    """
    numbers = [batch.last_offset for batch in found]
    low = bounds.base or 0
    high = low + INT32_MAX + 1 if bounds.base is not None else None
    if bounds.following is not None:
        high = bounds.following if high is None else min(high, bounds.following)
    within = [
        number if low <= number and (high is None or number < high) else -1 for number in numbers
    ]
    if within.count(-1) * 2 > len(within):
        return _longest_ascending(numbers)
    picked = set(_longest_ascending(within))
    first = min(picked, default=0)
    # The name of the file may be too high for its first batches.
    early = [each if each < min(low, found[first].offset) else -1 for each in numbers[:first]]
    return picked | set(_longest_ascending(early))


def _longest_ascending(numbers: Sequence[int]) -> Collection[int]:
    """Return the indexes of the longest ascending subsequence, without negative numbers."""
    if not numbers or (numbers[0] >= 0 and all(a < b for a, b in pairwise(numbers))):
        return range(len(numbers))
    ends: list[int] = []
    places: list[int] = []
    previous = [-1] * len(numbers)
    for place, number in enumerate(numbers):
        if number < 0:
            continue
        length = bisect_left(ends, number)
        ends[length:] = [number, *ends[length + 1 :]]
        places[length:] = [place, *places[length + 1 :]]
        previous[place] = places[length - 1] if length else -1
    found = set()
    place = places[-1] if places else -1
    while place >= 0:
        found.add(place)
        place = previous[place]
    return found


def _surrounding_offsets(
    found: Sequence[SalvagedBatch],
    kept: Collection[int],
    bounds: FileBounds,
    place: tuple[int, int],
) -> tuple[int, int | None]:
    """Return the offsets that a damaged range, with the batch rebuilt from it, lies between."""
    start, stop = place
    before = next((at for at in range(start - 1, -1, -1) if at in kept), None)
    after = next((at for at in range(stop, len(found)) if at in kept), None)
    return (
        (bounds.base or 0) if before is None else found[before].next_offset,
        bounds.following if after is None else found[after].offset,
    )


# -- leader epochs


def _correct_epochs(
    batches: list[SalvagedBatch], epoch_for: Callable[[Offset], LeaderEpoch | None]
) -> list[SalvagedBatch]:
    """Correct the epochs; a doubtful batch gets that of its predecessor."""
    trusted = [index for index, batch in enumerate(batches) if not batch.is_doubtful]
    corrected = _correct_trusted_epochs([batches[index] for index in trusted], epoch_for)
    for index, batch in zip(trusted, corrected, strict=True):
        batches[index] = batch
    for index in range(1, len(batches)):
        if batches[index].is_doubtful:
            batches[index] = batches[index]._replace(epoch=batches[index - 1].epoch)
    return batches


def _correct_trusted_epochs(
    batches: list[SalvagedBatch], epoch_for: Callable[[Offset], LeaderEpoch | None]
) -> list[SalvagedBatch]:
    """Correct the epochs that are below or above those of both neighbours."""
    epochs = [batch.epoch for batch in batches]
    for index, batch in enumerate(batches):
        known = epoch_for(Offset(batch.offset))
        before = epochs[index - 1] if index else known
        after = epochs[index + 1] if index + 1 < len(epochs) else known
        if _is_wrong(batch, before, after):
            assert before is not None, "_is_wrong requires it"
            right = known if known is not None and before <= known else before
            epochs[index] = right
            repair = f"leader epoch (was {batch.epoch})"
            batches[index] = batch._replace(epoch=right, repairs=(*batch.repairs, repair))
    return batches


def _is_wrong(batch: SalvagedBatch, before: int | None, after: int | None) -> bool:
    if batch.header.magic != MAGIC or before is None or after is None:
        return False
    return before <= after and not before <= batch.epoch <= after
