"""Order of the whole batches of a damaged log file, by the fields that no checksum covers.

    offsets   are decided by `batch_offsets`
    epochs    are corrected by `batch_epochs`

Batches that fit nowhere are reported and not salvaged. Those outside of the limits are doubtful,
unless most of many join each other: then the name of the file is wrong. The places of batches whose
offsets are not certain are lost.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.records.batch_header import read_header as header_of
from cordwood.records.record_batch import MAGIC
from cordwood.storage.reader.offset_gaps import has_start_offset
from cordwood.workbench.file_window import FileWindow
from cordwood.workbench.salvage.batch_epochs import correct_epochs
from cordwood.workbench.salvage.batch_offsets import (
    MANY,
    FileBatches,
    are_joined,
    place_batches,
)
from cordwood.workbench.salvage.batch_run import cleaned_end
from cordwood.workbench.salvage.batch_scan import DamagedRange, Piece, WholeBatch
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.offset_doubts import doubt_offsets
from cordwood.workbench.salvage.salvaged_batch import (
    SalvagedBatch,
    Trust,
    wrapper_offsets,
)

TORN: Final = "the file ends before an offset of its index"
OUT_OF_ORDER: Final = "the offset of the batch is out of order"


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
        batch = batch_of(file, piece, window=window, trust=trust)
        if batch is not None:
            found.append(batch)
    _doubt_behind_gap(found, damages, bounds)
    found = _confirm(found, damages, bounds)
    ranges: dict[int, list[DamagedRange]] = {}
    for index, damage in damages:
        ranges.setdefault(index, []).append(damage)
    row = FileBatches(found, bounds, ranges)
    right = place_batches(row)
    doubt_offsets(row, right)
    kept, misfits = _split(row, right)
    strays = _strays(found, kept, bounds)
    damages += _lost_places(found, kept, strays)
    damages += _lost_tail(row, kept, window.end)
    damages.sort(key=lambda each: each[1].position)
    places = list(_places_of(row, kept, damages))
    # Strays that are alone have each other's epochs; the others have those of the file.
    are_alone = len(strays) == len(kept)
    batches = [found[index] for index in kept]
    _doubt_rebuilt(batches, damages)
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


def _places_of(
    row: FileBatches, kept: Sequence[int], damages: Sequence[tuple[int, DamagedRange]]
) -> Iterator[tuple[int, int | None]]:
    """Yield the offsets that each damaged range lies between.

    A batch that a search has found may be a part of a damaged one, which ends behind it then. A
    batch that is left out and has no room there may have had its own offsets. So may one that a
    search has found, if only the next batch contradicts it.
    """
    firm = [at for at in kept if row.found[at].trust is not Trust.FOUND]
    present = set(kept)
    for index, damage in damages:
        stop = index + _takes_a_place(damage)
        first, end = row.room(kept, index, stop=stop)
        if damage.was_searched:
            _, after = row.room(firm, index, stop=stop)
            end = end if after is None else after
            end = None if end is None else max(end, _end_of_left_out(row, kept, index))
        if damage.why == OUT_OF_ORDER and end is not None and index not in present:
            batch = row.found[index]
            if end - first < batch.next_offset - batch.offset:
                first, end = min(first, batch.offset), max(end, batch.next_offset)
        yield first, end


def _end_of_left_out(row: FileBatches, kept: Sequence[int], start: int) -> int:
    """Return the end of the batches from a place on that are left out for the next one alone.

    They fit between those around that one; 0 without any.
    """
    place = bisect_left(kept, start)
    if place == len(kept):
        return 0
    low, high = row.room([*kept[:place][-1:], *kept[place + 1 :][:1]], start, stop=start)
    ends = (
        each.next_offset
        for each in row.found[start : kept[place]]
        if low <= each.offset and (high is None or each.next_offset <= high)
    )
    return max(ends, default=0)


def _takes_a_place(damage: DamagedRange) -> bool:
    """Return whether a damaged range is also a batch of the file's list."""
    return damage.rebuilt is not None or damage.why == OUT_OF_ORDER


def batch_of(file: str, piece: Piece, *, window: FileWindow, trust: Trust) -> SalvagedBatch | None:
    """Return the batch of a piece of a file, None if nothing of it is readable."""
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
    # The reader takes the offsets inside as they are if those of the wrapper would be negative.
    start = header.base_offset - (last - first)
    first = min(first, start) if start < 0 else first
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


def _doubt_behind_gap(
    found: list[SalvagedBatch], damages: list[tuple[int, DamagedRange]], bounds: FileBounds
) -> None:
    """Doubt batches to which the size of a damaged one leads, but not its offsets.

    They are behind a gap without a cleaner, or have the offset of a damaged old message. Bytes may
    be missing there, and the size may end in a value of a later batch. Such a place is one that a
    search has found.
    """
    cleaned_to = max(bounds.cleaned_to, cleaned_end(found))
    for place, (index, damage) in enumerate(damages):
        if damage.was_searched:
            return
        start = index + (damage.rebuilt is not None)
        before = found[index - 1].next_offset if index else bounds.base
        end = _known_end(damage, before)
        behind = found[start : start + 2]
        is_far = (
            end is not None
            and len(behind) > 1
            and behind[0].offset > max(end, cleaned_to)
            and behind[0].next_offset == behind[1].offset
        )
        if is_far or (behind and _has_offset_of(damage, behind[0], before)):
            damages[place] = index, damage._replace(was_searched=True)
            found[start:] = [
                each if each.trust is Trust.REBUILT else each._replace(trust=Trust.FOUND)
                for each in found[start:]
            ]
            return


def _doubt_rebuilt(found: list[SalvagedBatch], damages: Sequence[tuple[int, DamagedRange]]) -> None:
    """Doubt the places of rebuilt batches behind a batch that a search has found, or its range.

    They may be in a value, too. So at their offsets a marker may have been.
    """
    searched = sorted(damage.position for _, damage in damages if damage.was_searched)
    place, is_found = -1, False
    for at, batch in enumerate(found):
        before = bisect_left(searched, batch.header.position)
        is_found = is_found or (before > 0 and searched[before - 1] > place)
        if batch.trust is not Trust.REBUILT:
            place, is_found = batch.header.position, batch.trust is Trust.FOUND
        elif is_found:
            found[at] = batch._replace(trust=Trust.FOUND)


def _known_end(damage: DamagedRange, before: int | None) -> int | None:
    """Return the highest offset behind a damaged v2 batch whose header joins the batch before it.

    A batch has as many offsets as records, or more. One of both fields may be damaged.
    """
    header = damage.header
    if header is None or header.magic != MAGIC or header.base_offset != before:
        return None
    return max(header.next_offset, header.base_offset + header.record_count)


def _has_offset_of(damage: DamagedRange, batch: SalvagedBatch, before: int | None) -> bool:
    """Return whether a batch has the offset of a damaged old message that continues the log."""
    header = damage.header
    return (
        header is not None
        and header.magic < MAGIC
        and header.base_offset == before
        and batch.offset <= header.base_offset
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

    They join the base offset of the next file, or an end that is named elsewhere. If none is known,
    or if they are many, they join the end of the batch that was damaged, or a batch before it.
    Without any such end, they are consecutive. A batch in a value may do all of this.
    """
    searched = [(index, damage) for index, damage in damages if damage.was_searched]
    if not searched:
        return found
    start, damage = searched[-1]
    start += damage.rebuilt is not None
    if start >= len(found):
        return found
    first, last = found[start], found[-1]
    before = found[start - 1].next_offset if start else bounds.base
    if _is_inside(first, damage.header, after=before):
        return found
    ends = bounds.ends
    starts = _starts_behind(found, start, damage.header, bounds)
    # A file that ends elsewhere is torn, perhaps at the end of a batch in a value.
    is_whole = not ends or len(found) - start > MANY
    joins = (
        last.next_offset in ends
        or (is_whole and first.offset in starts)
        or (not ends and _are_consecutive(found[start:]))
    )
    if not joins:
        return found
    # The damage may reach into the header of the first batch: zeros are the offset of a new log.
    after = {found[start + 1].offset} if start + 1 < len(found) else ends
    is_behind = (first.offset or -1) in starts
    start += first.next_offset not in after and not is_behind
    is_inside = damage.header is None or damage.header.end > first.header.position
    old = _last_old(found, damages)
    if start > old and (is_inside or not is_behind):
        start = _end_of_value(found, start)
    return [
        each._replace(trust=Trust.CONFIRMED)
        if index >= start
        and each.trust is Trust.FOUND
        and (index > old or each.header.magic < MAGIC)
        else each
        for index, each in enumerate(found)
    ]


def _is_inside(batch: SalvagedBatch, header: BatchHeader | None, *, after: int | None) -> bool:
    """Return whether a batch has offsets and bytes of a damaged one that continues the log."""
    return (
        header is not None
        and header.base_offset == after
        and batch.offset < header.next_offset
        and batch.header.position < header.end
    )


def _last_old(found: Sequence[SalvagedBatch], damages: Sequence[tuple[int, DamagedRange]]) -> int:
    """Return the index of the last old message, or that behind a damaged one; -1 without any.

    A log has no old messages behind its first v2 batch. So a v2 batch that a search has found
    before one is in the value of a message.
    """
    olds = (at for at, each in enumerate(found) if each.header.magic < MAGIC)
    damaged = (
        index - 1
        for index, each in damages
        if each.header is not None and each.header.magic < MAGIC and not each.was_searched
    )
    return max([-1, *olds, *damaged])


def _end_of_value(found: Sequence[SalvagedBatch], start: int) -> int:
    """Return the index behind the batches that may be the end of an old message's value.

    The value ends where the message does. So such batches lead to those of the log, and their
    offsets may join them. A v2 batch does not end with a value. Where offsets go back, the batches
    before that are not those of the log.
    """
    if not 0 < start < len(found):
        return start
    is_next = found[start - 1].header.magic < MAGIC <= found[start].header.magic
    backs = (
        at for at in range(start + 1, len(found)) if found[at].offset < found[at - 1].next_offset
    )
    return max([start + 1, *backs]) if is_next else start


def _starts_behind(
    found: Sequence[SalvagedBatch], start: int, damaged: BatchHeader | None, bounds: FileBounds
) -> set[int]:
    """Return the offsets at which the first batch behind damage may begin.

    That is the end of the damaged batch. If its header continues the log, a batch with its offset
    is a part of it; otherwise the damage may be bytes that do not belong to the log.
    """
    befores = {found[start - 1].next_offset if start else bounds.base}
    if start:
        # The offset of the batch before the damage may be wrong: the one before it shows that.
        before = found[start - 2].next_offset if start > 1 else bounds.base
        last = found[start - 1]
        befores.add(None if before is None else before + last.next_offset - last.offset)
    starts = set() if damaged is None else {damaged.last_offset + 1}
    if damaged is None or damaged.base_offset not in befores:
        starts |= {each for each in befores if each is not None}
    return starts


def _header(data: bytes, position: int) -> BatchHeader:
    header = header_of(data, position=position)
    assert header is not None, "a rebuilt batch is whole"
    return header


# -- the order


def _split(row: FileBatches, fitting: Collection[int]) -> tuple[list[int], list[SalvagedBatch]]:
    """Return the indexes of the batches in order, and the batches that do not fit."""
    found, kept, end = row.found, list[int](), 0
    places = sorted(fitting)
    for index in (at for at in places if not found[at].is_doubtful):
        if found[index].offset >= end:
            kept.append(index)
            end = found[index].next_offset
    for index in (at for at in places if found[at].is_doubtful):
        first, limit = row.room(kept, index, stop=index + 1)
        batch = found[index]
        if first <= batch.offset and (limit is None or batch.next_offset <= limit):
            insort(kept, index)
    left_out = set(range(len(found))).difference(kept)
    return kept, [found[index] for index in sorted(left_out)]


def _strays(
    found: Sequence[SalvagedBatch], kept: Collection[int], bounds: FileBounds
) -> Collection[int]:
    """Return the indexes of the trusted batches that are kept outside of the limits.

    If most of many join each other, the name of the file is wrong, and not they.
    """
    strays = [
        index for index in kept if not bounds.has(found[index]) and not found[index].is_doubtful
    ]
    return () if are_joined([found[index] for index in strays]) else set(strays)


def _lost_tail(
    row: FileBatches, kept: Sequence[int], position: int
) -> Iterator[tuple[int, DamagedRange]]:
    """Yield the end of a file whose indexes have offsets behind its last batch."""
    last = len(row.found) - 1
    is_last = last + 1 not in row.damages and kept and kept[-1] == last
    if is_last and row.bounds.has_lost_tail(row.found[last].next_offset):
        yield last + 1, DamagedRange(position, position, TORN)


def _lost_places(
    found: Sequence[SalvagedBatch], kept: Collection[int], strays: Collection[int]
) -> Iterator[tuple[int, DamagedRange]]:
    """Yield the places of trusted batches that are not kept, and of those with uncertain offsets.

    The offsets that they had may be missing there.
    """
    unsure = {Trust.MOVED, Trust.UNJOINED}
    uncertain = {at for at in kept if at in strays or found[at].trust in unsure}
    if len(kept) == len(found) and not uncertain:
        return
    same = {(found[index].offset, found[index].header.crc) for index in kept}
    present = set(kept)
    for index, batch in enumerate(found):
        is_lost = index not in present and (batch.offset, batch.header.crc) not in same
        if index in uncertain or (is_lost and not batch.is_doubtful):
            header = batch.header
            yield index, DamagedRange(header.position, header.end, OUT_OF_ORDER)
