"""Missing offsets of a salvaged log: lost ones, and gaps that a cleaner has left.

Offsets below the log start are missing too if the files have others there. They are not reported,
since no reader gets them. But the marker of a kept transaction may have been there.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from cordwood.records.record_batch import MAGIC
from cordwood.workbench.salvage.batch_run import SalvagedRun, SourceWindows, lacking_offsets
from cordwood.workbench.salvage.damaged_markers import MARKER_SIZE
from cordwood.workbench.salvage.lost_markers import LostMarker, LostMarkers
from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRange
from cordwood.workbench.salvage.salvage_report import (
    MISSING,
    WITH_MARKER,
    WITHOUT_LOG,
    DamagedOffsets,
    ReportedOffsets,
    find_losses,
    merge_gaps,
)
from cordwood.workbench.salvage.source_directory import SideFileFacts
from cordwood.workbench.salvage.transaction_ends import RebuiltMarker


class SalvageLosses(NamedTuple):
    """The missing offsets of a log that are not inside of a run, in order.

    A cleaner explains the gaps below `cleaned_to`. `markers` are those of damaged batches, as far
    as they are readable.
    """

    missing: list[ReportedOffsets]
    cleaned_to: int = 0
    log_start: int = 0
    markers: LostMarkers = LostMarkers()

    @property
    def lost(self) -> list[ReportedOffsets]:
        """The offsets that no cleaner explains."""
        return [each for each in self.missing if not each.is_gap(self.cleaned_to)]

    @property
    def between_runs(self) -> list[LostRange]:
        """The gaps between runs."""
        return [
            LostRange(each.first, each.last)
            for each in self.missing
            if each.is_gap(self.cleaned_to) and each.last is not None
        ]

    def without_explanation(self, gaps: Collection[LostRange]) -> "SalvageLosses":
        """Return the same offsets; the ones in these gaps are lost with a marker."""
        firsts = {each.first for each in gaps}
        return self._replace(
            missing=[
                each._replace(why=WITH_MARKER) if each.first in firsts else each
                for each in self.missing
            ]
        )

    def reported(self, markers: Iterable[RebuiltMarker]) -> Iterator[ReportedOffsets]:
        """Yield the lost ranges from the log start on, without the places of rebuilt markers."""
        rebuilt = [each.offset for each in markers if each.is_placed]
        return _behind(_without(self.lost, rebuilt), self.log_start)

    def gaps(self, runs: Iterable[SalvagedRun]) -> Iterator[ReportedOffsets]:
        """Yield the gaps that a cleaner explains from the log start on, also those in runs."""
        missing = _behind(self.missing, self.log_start)
        return merge_gaps(missing, runs, cleaned_to=self.cleaned_to)


def find_lost(
    runs: Sequence[SalvagedRun],
    damages: Sequence[DamagedOffsets],
    *,
    known: SideFileFacts,
    cleaned_to: int,
    windows: SourceWindows,
) -> SalvageLosses:
    """Return the offsets of a log that are in no batch, or in no record of one."""
    first, end = runs[0].first, runs[-1].next_offset
    found = find_losses(
        runs,
        damages,
        start=min(first, known.first_offset),
        known_end=known.end,
        is_end_known=known.end in known.marks,
        lacking=lambda run: lacking_offsets(run, windows),
    )
    missing = [_without_log(each, known.orphans) for each in found]
    log_start = known.log_start if known.log_start < end else 0
    markers = LostMarkers(
        (each for damage in damages for each in _markers_of(damage)),
        others=(span for damage in damages if (span := _other_batch(damage)) is not None),
    )
    return SalvageLosses(missing, cleaned_to, log_start, markers)


def _markers_of(offsets: DamagedOffsets) -> Iterator[LostMarker]:
    """Yield the markers of a damaged range, with the offsets at which each may have been."""
    first = offsets.first
    last = UNKNOWN_END if offsets.end is None else offsets.end - 1
    for each in offsets.damage.markers:
        if each.offset is not None and first <= each.offset <= last:
            yield LostMarker(each, each.offset, each.offset)
        else:
            yield LostMarker(each, first, last)


def _other_batch(offsets: DamagedOffsets) -> tuple[int, int] | None:
    """Return the offsets of a damaged batch that is not a marker, by its header.

    Its size leads to its end, or its offset continues the log.
    """
    header = offsets.damage.header
    if header is None or header.magic != MAGIC:
        return None
    first = header.base_offset if not offsets.damage.was_searched else offsets.first
    is_placed = offsets.first <= header.base_offset == first and (
        offsets.end is None or header.next_offset <= offsets.end
    )
    is_other = header.size != MARKER_SIZE and not header.is_control
    return (header.base_offset, header.last_offset) if is_placed and is_other else None


def _without_log(offsets: ReportedOffsets, orphans: Sequence[int]) -> ReportedOffsets:
    """Return missing offsets; a cleaner does not explain them if an index of their log is left."""
    at = bisect_left(orphans, offsets.first)
    is_left = at < len(orphans) and (offsets.last is None or orphans[at] <= offsets.last)
    is_missing = offsets.why == MISSING and is_left
    return offsets._replace(why=WITHOUT_LOG) if is_missing else offsets


def _behind(ranges: Iterable[ReportedOffsets], start: int) -> Iterator[ReportedOffsets]:
    """Yield the parts of ranges from an offset on."""
    for each in ranges:
        if each.last is None or each.last >= start:
            yield each._replace(first=max(each.first, start))


def _without(lost: Sequence[ReportedOffsets], offsets: Sequence[int]) -> Iterator[ReportedOffsets]:
    """Yield the lost ranges without some of their offsets, which ascend."""
    at = 0
    for each in lost:
        first = each.first
        while at < len(offsets) and (each.last is None or offsets[at] <= each.last):
            if offsets[at] > first:
                yield each._replace(first=first, last=offsets[at] - 1)
            first = max(first, offsets[at] + 1)
            at += 1
        if each.last is None or first <= each.last:
            yield each._replace(first=first)
