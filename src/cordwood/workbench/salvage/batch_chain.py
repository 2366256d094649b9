"""Order of the whole batches of a damaged log file, by the fields that no checksum covers.

    offsets   ascend from batch to batch; if some do not, the longest ascending chain is correct
              a batch with a damaged offset that fits exactly between its neighbours gets it back
              limits are the base offset of the file and the base offset of the next one; without a
              next file, an end named elsewhere (`marks`): a producer snapshot or a checkpoint
    epochs    are corrected by `batch_epochs`

Batches that fit nowhere are reported and not salvaged. Those outside of the limits are doubtful,
unless most of many join each other: then the name of the file is wrong. Offsets of v0 and v1
batches are checked but not corrected, since a wrapper does not contain its number of offsets.

Batches are placed in the order of trust: first those to which the sizes of the file lead, and only
then, between them, those that a search has found. Such a batch never reaches the base offset of the
next file.
"""

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
from cordwood.workbench.salvage.batch_epochs import correct_epochs
from cordwood.workbench.salvage.batch_scan import DamagedRange, Piece, WholeBatch
from cordwood.workbench.salvage.offset_chain import ChainEnds, OffsetSpan, longest_chain
from cordwood.workbench.salvage.salvaged_batch import (
    SalvagedBatch,
    Trust,
    wrapper_offsets,
)

OUT_OF_ORDER: Final = "the offset of the batch is out of order"

#: More consecutive batches than these, up to the end of a file, are not in a value.
MANY: Final = 3


class FileBounds(NamedTuple):
    """The limits of a file: its base offset, that of the next file, and offsets of known ends.

    `epochs` are the leader epochs of the batches before and behind the file, if they are known.
    """

    base: int | None = None
    following: int | None = None
    marks: frozenset[int] = frozenset()
    epochs: tuple[int | None, int | None] = (None, None)

    def has(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch ends within the limits."""
        last = batch.last_offset
        return (self.base or 0) <= last and (self.following is None or last < self.following)


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
    strays = _strays(found, kept, bounds)
    damages += _lost_places(found, kept, strays)
    damages.sort(key=lambda each: each[1].position)
    places = [
        _surrounding_offsets(found, kept, bounds, (index, index + _takes_a_place(damage)))
        for index, damage in damages
    ]
    # Strays that are alone have each other's epochs; the others have those of the file.
    are_alone = len(strays) == len(kept)
    batches = [found[index] for index in sorted(kept)]
    if not are_alone:
        batches = _marked(batches, [found[index] for index in strays])
    batches = correct_epochs(batches, epoch_for, around=bounds.epochs)
    return BatchChain(
        _marked(batches, batches) if are_alone else batches,
        misfits,
        [(*place, damage) for place, (_, damage) in zip(places, damages, strict=True)],
    )


def _marked(
    batches: Sequence[SalvagedBatch], strays: Sequence[SalvagedBatch]
) -> list[SalvagedBatch]:
    """Return the batches, some of them as strays."""
    positions = {each.header.position for each in strays}
    return [
        each._replace(trust=Trust.STRAY) if each.header.position in positions else each
        for each in batches
    ]


def _takes_a_place(damage: DamagedRange) -> bool:
    """Return whether a damaged range is also a batch of the file's list."""
    return damage.rebuilt is not None or damage.why == OUT_OF_ORDER


def _salvage(file: str, piece: Piece, *, window: FileWindow, trust: Trust) -> SalvagedBatch | None:
    """Return the batch of a piece, None if nothing of it is readable."""
    if isinstance(piece, WholeBatch):
        if not has_start_offset(piece.header):
            return _salvage_wrapper(file, piece, window=window, trust=trust)
        header, data = piece.header, piece.mended
        offset, epoch = header.base_offset, header.partition_leader_epoch
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


def _salvage_wrapper(
    file: str, piece: WholeBatch, *, window: FileWindow, trust: Trust
) -> SalvagedBatch:
    """Return a wrapper of old messages; one of v0 gets the offset of the last message in it.

    The offsets in a wrapper of v0 are absolute, and its checksum covers them, but not its own.
    """
    header, data = piece.header, piece.mended
    first, last = wrapper_offsets(
        data or window.view(header.position, header.size), header.base_offset
    )
    found = SalvagedBatch(file, header, data, piece.repairs, first, trust=trust)
    if header.magic or last == header.base_offset:
        return found
    mended = bytearray(data or window.view(header.position, header.size))
    mended[:8] = last.to_bytes(8)
    repair = f"offset (was {header.base_offset})"
    return found._replace(
        header=_header(bytes(mended), header.position),
        mended=bytes(mended),
        repairs=(*piece.repairs, repair),
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
    # Other ends that are named elsewhere are those of other files.
    ends = set(bounds.marks) if bounds.following is None else {bounds.following}
    ends -= {0}
    starts = _starts_behind(found, start, damage.header, bounds)
    joins = (
        last.next_offset in ends
        or first.offset in starts
        or (not ends and _are_consecutive(found[start:]))
    )
    if not joins:
        return found
    # The damage may reach into the header of the first batch: zeros are the offset of a new log.
    after = {found[start + 1].offset} if start + 1 < len(found) else ends
    start += first.next_offset not in after and (first.offset or -1) not in starts
    return [
        each._replace(trust=Trust.CONFIRMED)
        if index >= start and each.trust is Trust.FOUND
        else each
        for index, each in enumerate(found)
    ]


def _starts_behind(
    found: Sequence[SalvagedBatch], start: int, damaged: BatchHeader | None, bounds: FileBounds
) -> set[int]:
    """Return the offsets at which the first batch behind damage may begin.

    That is the end of the damaged batch. If its header continues the log, a batch with its offset
    is a part of it; otherwise the damage may be bytes that do not belong to the log.
    """
    before = found[start - 1].next_offset if start else bounds.base
    starts = set() if damaged is None else {damaged.last_offset + 1}
    if before is not None and (damaged is None or damaged.base_offset != before):
        starts.add(before)
    return starts


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
    # Batches whose offsets are right; those of the others prove nothing about their neighbours.
    fitting = _fitting(found, bounds)
    right = fitting if isinstance(fitting, range) else set(fitting)
    for start, stop in _doubtful_runs(found, right, bounds):
        before = found[start - 1].next_offset if start else bounds.base
        after = found[stop].offset if stop < len(found) else bounds.following
        is_whole = not any(start <= gap <= stop for gap in gaps)
        if (
            before is not None
            and is_whole
            and _renumber(found, (start, stop), before, after=after, marks=bounds.marks)
            and isinstance(right, set)
        ):
            right.update(range(start, stop))
    return found


def _renumber(
    found: list[SalvagedBatch],
    run: tuple[int, int],
    before: int,
    *,
    after: int | None,
    marks: Collection[int],
) -> bool:
    """Number a run of batches consecutively from `before` on, if they fill the space exactly.

    Return whether they do.
    """
    start, stop = run
    widths = [batch.next_offset - batch.offset for batch in found[start:stop]]
    end = before + sum(widths)
    is_led = all(batch.trust is Trust.LED for batch in found[start:stop])
    is_last = stop == len(found) and after is None and is_led
    if any(batch.header.magic != MAGIC for batch in found[start:stop]):
        return False
    is_all = stop - start == len(found) and found[start].offset < before
    if is_all and end != after and end not in marks:
        return False  # the name of the file may be wrong as well
    if end != after and not (is_last and (end in marks or _goes_back(found, start, before))):
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


def _strays(
    found: Sequence[SalvagedBatch], kept: Collection[int], bounds: FileBounds
) -> Collection[int]:
    """Return the indexes of the trusted batches that are kept outside of the limits.

    If most of many join each other, the name of the file is wrong, and not they.
    """
    strays = [
        index
        for index in sorted(kept)
        if not bounds.has(found[index]) and not found[index].is_doubtful
    ]
    return () if _are_joined([found[index] for index in strays]) else set(strays)


def _are_joined(batches: Sequence[SalvagedBatch]) -> bool:
    """Return whether there are several batches, and most of them join the next one."""
    joints = sum(one.next_offset == other.offset for one, other in pairwise(batches))
    return len(batches) > MANY and joints * 2 > len(batches)


def _lost_places(
    found: Sequence[SalvagedBatch], kept: Collection[int], strays: Collection[int]
) -> Iterator[tuple[int, DamagedRange]]:
    """Yield the places of trusted batches that are not kept, and of strays.

    The offsets that they had are missing there.
    """
    if len(kept) == len(found) and not strays:
        return
    same = {(found[index].offset, found[index].header.crc) for index in kept}
    for index, batch in enumerate(found):
        is_lost = index not in kept and (batch.offset, batch.header.crc) not in same
        if index in strays or (is_lost and not batch.is_doubtful):
            header = batch.header
            yield index, DamagedRange(header.position, header.end, OUT_OF_ORDER)


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
            spans = [
                _span_of(found[at]) if _is_within(found[at], low, high) else None for at in own
            ]
            picked = longest_chain(spans)
        chosen |= {own[at] for at in picked}
    return chosen


def _is_within(batch: SalvagedBatch, low: int, high: int | None) -> bool:
    return batch.offset > low and (high is None or batch.last_offset < high)


def _longest_chain(found: Sequence[SalvagedBatch], bounds: FileBounds) -> Collection[int]:
    """Return the indexes of the longest ascending chain of batches.

    Batches beyond the next file's base offset or the reach of a segment are excluded. They are not
    if all are beyond, or more than half that join each other. Those below the file's own base
    offset have to come first.
    """
    spans = [_span_of(batch) for batch in found]
    low = bounds.base or 0
    high = low + INT32_MAX + 1 if bounds.base is not None else None
    if bounds.following is not None:
        high = bounds.following if high is None else min(high, bounds.following)
    within = [
        span if low <= span[1] and (high is None or span[1] < high) else None for span in spans
    ]
    ends = ChainEnds(bounds.base, {*bounds.marks, bounds.following or -1})
    outside = [batch for batch, span in zip(found, within, strict=True) if span is None]
    is_misnamed = len(outside) * 2 > len(found) and _are_joined(outside)
    if is_misnamed or len(outside) == len(found):
        return longest_chain([span if span[1] >= 0 else None for span in spans], ends)
    picked = set(longest_chain(within, ends))
    first = min(picked, default=0)
    # The name of the file may be too high for its first batches.
    limit = min(low, found[first].offset) if picked else low
    early = [span if 0 <= span[1] < limit else None for span in spans[:first]]
    return picked | set(longest_chain(early))


def _span_of(batch: SalvagedBatch) -> OffsetSpan:
    return batch.offset, batch.last_offset


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
