"""Report of a salvage: salvaged, lost, doubtful and repaired offsets.

Every offset between the start and the end of the log is in a salvaged batch, or in `lost` or
`gaps`. Next to damage or a missing file, offsets that compaction removed look like lost ones, so
`lost` is an upper bound.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from heapq import merge
from typing import Final, NamedTuple

from cordwood.workbench.number_ranges import consecutive_ranges, ranges_between
from cordwood.workbench.salvage.batch_run import SalvagedRun
from cordwood.workbench.salvage.batch_scan import DamagedRange
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust
from cordwood.workbench.salvage.transaction_ends import DoubtfulRecords, RebuiltMarker
from cordwood.workbench.verify.findings import Verdict

MISSING: Final = "in no file"
WITHOUT_LOG: Final = "in no file; an index of their segment is left"
WITH_MARKER: Final = "in no file; the marker of a transaction was among them"
NEXT_TO_FOREIGN: Final = "in no file, next to batches of a file that is not a segment's"
LACKING: Final = "in no record of a batch that is from a file that is not a segment's"
DISPLACED: Final = "in no record of a batch whose base offset is doubtful"
UNREADABLE: Final = "unreadable records"
REPAIRED: Final = "repaired: "
DAMAGED_BATCH: Final = "read one by one from a damaged batch"
OUT_OF_BOUNDS: Final = "at offsets that are not those of its file"
UNJOINED: Final = "next to damage, and its base offset does not join its neighbours"
FOUND_BY_SEARCH: Final = "found by a search in a damaged range, perhaps inside of a record"


class ReportedOffsets(NamedTuple):
    """A range of offsets, both ends included, and the reason why it is reported.

    If `last` is None, the end of the range is unknown.
    """

    first: int
    last: int | None
    why: str
    file: str = ""
    position: int | None = None

    @property
    def is_inside_batch(self) -> bool:
        """Return whether the offsets are inside a batch of the new log."""
        return self.why in {UNREADABLE, LACKING, DISPLACED}

    def is_gap(self, cleaned_to: int) -> bool:
        """Return whether a cleaner explains missing offsets: below `cleaned_to`, no damage."""
        return self.why == MISSING and self.last is not None and self.last < cleaned_to


class SalvagedOffsets(NamedTuple):
    """The offsets of a log that differ from the original one; see `SalvageReport`."""

    lost: tuple[ReportedOffsets, ...] = ()
    doubtful: tuple[ReportedOffsets, ...] = ()
    mended: tuple[ReportedOffsets, ...] = ()
    gaps: tuple[ReportedOffsets, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageReport:
    """The new log, and every difference from the original one.

    `gaps` are offsets in no batch, without damage nearby, that a cleaner has removed. Offsets in no
    batch that no cleaner explains are `lost`. `verdict` is that on the source, if it was verified.
    """

    source: str
    path: str
    partition: str
    log_start: int
    log_end: int
    batches: int
    size: int
    lost: tuple[ReportedOffsets, ...] = ()
    doubtful: tuple[ReportedOffsets, ...] = ()
    mended: tuple[ReportedOffsets, ...] = ()
    gaps: tuple[ReportedOffsets, ...] = ()
    notes: tuple[str, ...] = field(default=())
    verdict: Verdict | None = None

    @property
    def is_whole(self) -> bool:
        """Return whether no offset is lost or doubtful."""
        return not self.lost and not self.doubtful

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        found = asdict(self)
        for name in ("lost", "doubtful", "mended", "gaps"):
            found[name] = [each._asdict() for each in getattr(self, name)]
        return json.dumps(found)


class DamagedOffsets(NamedTuple):
    """A damaged range of a file, and the offsets that it lies between; `end` is exclusive."""

    first: int
    end: int | None
    damage: DamagedRange
    file: str


def find_losses(
    runs: Sequence[SalvagedRun],
    stretches: Sequence[DamagedOffsets],
    *,
    start: int,
    known_end: int,
    is_end_known: bool = True,
    lacking: Callable[[SalvagedRun], Iterable[tuple[int, int]]] = lambda _: (),
) -> Iterator[ReportedOffsets]:
    """Yield the ranges of offsets from `start` to the log's end that are in no batch, in order.

    The log has reached `known_end`, and ended there if `is_end_known`. A range without damage
    nearby has no file. A foreign file stands for a part of the log that is lost. So its cleaner
    does not explain the gaps next to its batches, nor the offsets that are `lacking` in them, and
    its end is not that of the log. The offsets that are lacking in a batch whose base offset is
    doubtful may have been in other ones.
    """
    expected, is_foreign = start, False
    damages = _DamageLookup(stretches)
    for run in runs:
        if run.first > expected:
            why = NEXT_TO_FOREIGN if is_foreign or run.is_foreign else MISSING
            yield damages.gap(expected, run.first, why=why)
        is_foreign = run.is_foreign
        if run.only is not None and run.only.offsets is not None:
            yield from _lost_inside(run.only)
        elif is_foreign or run.is_displaced:
            why = LACKING if is_foreign else DISPLACED
            for first, last in lacking(run):
                yield ReportedOffsets(first, last, why, run.file, run.position)
        expected = max(expected, run.next_offset)
    known = _EndOfLog(expected, known_end, is_end_known, is_foreign)
    yield from _losses_at_end(known, stretches, damages)


class _EndOfLog(NamedTuple):
    """The end of the salvaged log, and the one that is known; the last run may be foreign."""

    expected: int
    known: int
    is_known: bool
    is_foreign: bool


def _losses_at_end(
    log: _EndOfLog, stretches: Sequence[DamagedOffsets], damages: "_DamageLookup"
) -> Iterator[ReportedOffsets]:
    """Yield the offsets behind the last batch that are lost, perhaps without an end."""
    claims = [each for each in stretches if _claimed_end(each, log.expected) > log.known]
    last = max([log.known, *(_claimed_end(each, log.expected) for each in claims)])
    if last > log.expected:
        yield damages.gap(log.expected, last)
        if not any(map(_is_longer, claims)) if claims else log.is_known:
            return
    end = max(log.expected, last)
    at_end = (each for each in stretches if each.end is None or each.end > end)
    found = next((each for each in at_end if each.damage.hides_more), None)
    if found is not None:
        yield ReportedOffsets(end, None, found.damage.why, found.file, found.damage.position)
    elif last > log.expected:
        yield ReportedOffsets(end, None, MISSING)
    elif log.is_foreign and log.known < end:
        yield ReportedOffsets(end, None, NEXT_TO_FOREIGN)


def merge_gaps(
    gone: Iterable[ReportedOffsets], runs: Iterable[SalvagedRun], *, cleaned_to: int
) -> Iterator[ReportedOffsets]:
    """Yield the gaps that a cleaner explains; those without a loss between them as one range."""
    inside = (
        (each.gaps.first, each.gaps.last, each.gaps.number, each.gaps.offsets)
        for each in runs
        if each.gaps.number
    )
    between = (
        (each.first, each.last, each.is_gap(cleaned_to), each.last - each.first + 1)
        for each in gone
        if each.last is not None and not each.is_inside_batch
    )
    first, last, count, offsets = -1, -1, 0, 0
    for start, stop, number, size in merge(inside, between):
        if count and not number:
            yield _gaps(first, last, count, offsets)
            count = 0
        if number:
            first, offsets = (start, 0) if not count else (first, offsets)
            last, count, offsets = stop, count + number, offsets + size
    if count:
        yield _gaps(first, last, count, offsets)


def _gaps(first: int, last: int, count: int, offsets: int) -> ReportedOffsets:
    why = MISSING if count == 1 else f"{offsets} of them are {MISSING}, in {count} gaps"
    return ReportedOffsets(first, last, why)


def doubtful_offsets(
    runs: Iterable[SalvagedRun], undecided: Iterable[DoubtfulRecords]
) -> list[ReportedOffsets]:
    """Return the offsets whose records may be wrong, or whose transaction is not known."""
    found = [
        offsets for run in runs if run.only is not None for offsets in _doubtful_inside(run.only)
    ]
    found += [ReportedOffsets(each.first, each.last, each.why) for each in undecided]
    return sorted(found, key=lambda each: each.first)


def _doubtful_inside(batch: SalvagedBatch) -> Iterator[ReportedOffsets]:
    place = batch.file, batch.header.position
    if batch.offsets is not None:
        for first, last in consecutive_ranges(batch.offsets):
            yield ReportedOffsets(first, last, DAMAGED_BATCH, *place)
    elif batch.is_doubtful:
        yield ReportedOffsets(batch.offset, batch.last_offset, _doubt(batch), *place)


def _doubt(batch: SalvagedBatch) -> str:
    """Return why a batch that is as in its file is doubtful."""
    if batch.trust is Trust.MOVED:
        was = batch.header.base_offset
        return f"its base offset {was} is out of order; it was put next to its neighbour"
    return {Trust.STRAY: OUT_OF_BOUNDS, Trust.UNJOINED: UNJOINED}.get(batch.trust, FOUND_BY_SEARCH)


def find_mended(
    runs: Iterable[SalvagedRun], markers: Iterable[RebuiltMarker]
) -> list[ReportedOffsets]:
    """Return the offsets of repaired batches, and of markers that were rebuilt."""
    found = []
    for batch in (run.only for run in runs if run.only is not None):
        if batch.repairs:
            why = f"{REPAIRED}{'; '.join(batch.repairs)}"
            found.append(
                ReportedOffsets(
                    batch.offset, batch.last_offset, why, batch.file, batch.header.position
                )
            )
    for each in markers:
        kind = "commit" if each.is_commit else "abort"
        why = f"{kind} marker of producer {each.event.producer_id} rebuilt: {each.why}"
        found.append(ReportedOffsets(each.offset, each.offset, why))
    return sorted(found, key=lambda each: each.first)


def _lost_inside(batch: SalvagedBatch) -> Iterator[ReportedOffsets]:
    """Yield the offsets of a rebuilt batch whose records could not be parsed."""
    present = batch.offsets or ()
    for first, last in ranges_between(present, first=batch.offset, end=batch.next_offset):
        yield ReportedOffsets(first, last, UNREADABLE, batch.file, batch.header.position)


class _DamageLookup:
    """The damaged ranges in the order of offsets, asked for ascending ranges."""

    def __init__(self, stretches: Sequence[DamagedOffsets]) -> None:
        self._stretches = stretches
        self._at = 0

    def gap(self, first: int, end: int, *, why: str = MISSING) -> ReportedOffsets:
        """Return the range with the damage that explains it; `why` if there is none."""
        while self._at < len(self._stretches) and _is_before(self._stretches[self._at], first):
            self._at += 1
        for each in self._stretches[self._at :]:
            if each.first >= end:
                break
            if not _is_before(each, first):
                return ReportedOffsets(
                    first, end - 1, each.damage.why, each.file, each.damage.position
                )
        return ReportedOffsets(first, end - 1, why)


def _is_before(stretch: DamagedOffsets, first: int) -> bool:
    return stretch.end is not None and stretch.end <= first


def _is_longer(loss: DamagedOffsets) -> bool:
    """Return whether a damaged range is longer than its batch, and may hide others behind that."""
    header = loss.damage.header
    return header is not None and header.end < loss.damage.end


def _claimed_end(loss: DamagedOffsets, expected: int) -> int:
    """Return the end that a damaged batch at the log's end claims, 0 if it does not follow."""
    header = loss.damage.header
    if loss.end is not None or header is None or header.base_offset != expected:
        return 0
    return header.next_offset if header.last_offset >= expected else 0
