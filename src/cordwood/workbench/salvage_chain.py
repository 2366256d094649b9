"""What a log file's whole batches say that no checksum covers, held against their neighbours.

    offsets   rise from batch to batch; of those that do not, most are right
              one that was hurt and stood exactly between its neighbours is put back there
              the first stands behind the file's base, the last before the next file's, or at an end
              that something else names (`marks`): a producer snapshot, a checkpoint
    epochs    never go back; one that does, or runs ahead, gets that of its neighbours

What fits nowhere is told, and is not part of what is salvaged. Offsets of v0 and v1 are looked at
and not put right, since a wrapper does not say how many it has.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch import MAGIC
from cordwood.records.header import BatchHeader
from cordwood.records.header import read_header as header_of
from cordwood.workbench.salvage_batches import Damage, Piece, WholeBatch

_I32: Final = Struct(">i")
_I64: Final = Struct(">q")


class Salvaged(NamedTuple):
    """A batch that is kept: from which file, and its bytes where they are not those in the file.

    `offset` and `epoch` are what it should say of them; `is_doubtful` when it was rebuilt.
    """

    file: str
    header: BatchHeader
    mended: bytes | None = None
    repairs: tuple[str, ...] = ()
    offset: int = 0
    epoch: int = -1
    offsets: tuple[int, ...] | None = None

    @property
    def last_offset(self) -> int:
        return self.offset + self.header.last_offset - self.header.base_offset

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def is_doubtful(self) -> bool:
        """Whether its records are those that could be read of a batch with a wrong checksum."""
        return self.offsets is not None

    def set_in(self, data: bytearray) -> bytearray:
        """Write into the batch's bytes what it should say."""
        if self.header.magic == MAGIC:
            _I64.pack_into(data, 0, self.offset)
            _I32.pack_into(data, 12, self.epoch)
        return data


class Bounds(NamedTuple):
    """What is known of a file from outside: where it begins, and where what follows begins."""

    base: int | None = None
    following: int | None = None
    marks: frozenset[int] = frozenset()


class Chain(NamedTuple):
    """A file's batches in order, those that fit nowhere, and the stretches that are damaged.

    Of each stretch it is said between which offsets it lies, the second not included.
    """

    batches: list[Salvaged]
    misfits: list[Salvaged]
    damages: list[tuple[int, int | None, Damage]]


def chain_of(
    file: str,
    pieces: Iterable[Piece],
    *,
    bounds: Bounds,
    epoch_for: Callable[[Offset], LeaderEpoch | None],
) -> Chain:
    """Return what a file holds, its batches put in order."""
    found: list[Salvaged] = []
    damages: list[tuple[int, Damage]] = []
    for piece in pieces:
        if isinstance(piece, Damage):
            damages.append((len(found), piece))
        batch = _salvaged(file, piece)
        if batch is not None:
            found.append(batch)
    marked = frozenset(index for index, _ in damages)
    found = _with_offsets(found, bounds, marked)
    fitting = _fitting(found, bounds)
    kept, misfits = _split(found, fitting, bounds)
    places = [
        _between(found, kept, bounds, (index, index + (damage.rebuilt is not None)))
        for index, damage in damages
    ]
    return Chain(
        _with_epochs([found[index] for index in sorted(kept)], epoch_for),
        misfits,
        [(*place, damage) for place, (_, damage) in zip(places, damages, strict=True)],
    )


def _salvaged(file: str, piece: Piece) -> Salvaged | None:
    """Return what there is of a piece to be kept."""
    if isinstance(piece, WholeBatch):
        header = piece.header
        return Salvaged(
            file,
            header,
            piece.mended,
            piece.repairs,
            header.base_offset,
            header.partition_leader_epoch,
        )
    if piece.rebuilt is None:
        return None
    header = _header(piece.rebuilt.data, piece.position)
    return Salvaged(
        file,
        header,
        piece.rebuilt.data,
        (),
        header.base_offset,
        header.partition_leader_epoch,
        piece.rebuilt.offsets,
    )


def _header(data: bytes, position: int) -> BatchHeader:
    header = header_of(data, position=position)
    assert header is not None, "what was built is whole"
    return header


# -- offsets


def _with_offsets(found: list[Salvaged], bounds: Bounds, gaps: Collection[int]) -> list[Salvaged]:
    """Put batches back that stood exactly between their neighbours."""
    if not found:
        return found
    fitting = _fitting(found, bounds)
    for start, stop in _doubtful_runs(found, fitting, bounds):
        before = found[start - 1].next_offset if start else bounds.base
        after = found[stop].offset if stop < len(found) else bounds.following
        is_whole = not any(start <= gap <= stop for gap in gaps)
        if before is not None and is_whole:
            _put_back(found, (start, stop), before, after=after, marks=bounds.marks)
    return found


def _put_back(
    found: list[Salvaged],
    run: tuple[int, int],
    before: int,
    *,
    after: int | None,
    marks: Collection[int],
) -> None:
    """Let a run of batches follow one another from `before` on, if that is where they belong."""
    start, stop = run
    widths = [batch.next_offset - batch.offset for batch in found[start:stop]]
    end = before + sum(widths)
    is_last = stop == len(found) and after is None
    if any(batch.header.magic != MAGIC for batch in found[start:stop]):
        return
    if end != after and not (is_last and (end in marks or _goes_back(found, start, before))):
        return
    for index, width in zip(range(start, stop), widths, strict=True):
        batch = found[index]
        repair = f"the base offset, {batch.offset}"
        found[index] = batch._replace(offset=before, repairs=(*batch.repairs, repair))
        before += width


def _goes_back(found: list[Salvaged], start: int, before: int) -> bool:
    """Whether a run at the end of the log is below what is before it, or out of its reach."""
    return not before <= found[start].offset <= before + INT32_MAX


def _doubtful_runs(
    found: Sequence[Salvaged], fitting: Collection[int], bounds: Bounds
) -> Iterator[tuple[int, int]]:
    """Yield the runs of batches that do not fit, and single ones that overlap their neighbours."""
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


def _overlaps(found: Sequence[Salvaged], index: int, bounds: Bounds) -> bool:
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
    found: Sequence[Salvaged], fitting: Collection[int], bounds: Bounds
) -> tuple[set[int], list[Salvaged]]:
    """Return which batches follow from one another, and those that do not."""
    kept: set[int] = set()
    misfits: list[Salvaged] = []
    end = 0
    for index, batch in enumerate(found):
        limit = bounds.following if batch.is_doubtful else None
        is_below = limit is None or batch.next_offset <= limit
        if index in fitting and batch.offset >= end and is_below:
            kept.add(index)
            end = batch.next_offset
        else:
            misfits.append(batch)
    return kept, misfits


def _fitting(found: Sequence[Salvaged], bounds: Bounds) -> Collection[int]:
    """Return the places of the most batches that follow; those beyond the file only if most are."""
    numbers = [batch.last_offset for batch in found]
    if bounds.following is not None:
        within = [number if number < bounds.following else -1 for number in numbers]
        if within.count(-1) * 2 < len(within):
            numbers = within
    return _rising(numbers)


def _rising(numbers: Sequence[int]) -> Collection[int]:
    """Return the places of the most numbers that rise; none that is negative."""
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


def _between(
    found: Sequence[Salvaged], kept: Collection[int], bounds: Bounds, stretch: tuple[int, int]
) -> tuple[int, int | None]:
    """Return the offsets between which a stretch lies, with the batch that was rebuilt of it."""
    start, stop = stretch
    before = next((at for at in range(start - 1, -1, -1) if at in kept), None)
    after = next((at for at in range(stop, len(found)) if at in kept), None)
    return (
        (bounds.base or 0) if before is None else found[before].next_offset,
        bounds.following if after is None else found[after].offset,
    )


# -- leader epochs


def _with_epochs(
    batches: list[Salvaged], epoch_for: Callable[[Offset], LeaderEpoch | None]
) -> list[Salvaged]:
    """Give those an epoch of their neighbours' whose own goes back or runs ahead."""
    epochs = [batch.epoch for batch in batches]
    for index, batch in enumerate(batches):
        known = epoch_for(Offset(batch.offset))
        before = epochs[index - 1] if index else known
        after = epochs[index + 1] if index + 1 < len(epochs) else known
        if _is_wrong(batch, before, after):
            assert before is not None, "without it nothing is wrong"
            right = known if known is not None and before <= known else before
            epochs[index] = right
            repair = f"the leader epoch, {batch.epoch}"
            batches[index] = batch._replace(epoch=right, repairs=(*batch.repairs, repair))
    return batches


def _is_wrong(batch: Salvaged, before: int | None, after: int | None) -> bool:
    if batch.header.magic != MAGIC or before is None or after is None:
        return False
    return before <= after and not before <= batch.epoch <= after
