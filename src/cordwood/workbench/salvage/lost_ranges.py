"""Lost offsets of a log, and the damaged markers in them."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.workbench.salvage.lost_markers import LostMarkers

#: The end of a range of lost offsets whose end is unknown.
UNKNOWN_END: Final = INT64_MAX


class LostRange(NamedTuple):
    """Lost offsets, both ends included; if they are not free, a doubtful batch stands there."""

    first: int
    last: int
    is_free: bool = True


class LostRanges:
    """The lost ranges of a log, in order; below `cleaned_to` records may be missing too.

    `gaps` are the missing offsets between files that a cleaner seems to explain, `markers` the
    damaged markers in the lost ranges.
    """

    def __init__(
        self,
        ranges: Iterable[LostRange],
        *,
        cleaned_to: int = 0,
        gaps: Iterable[LostRange] = (),
        markers: LostMarkers | None = None,
    ) -> None:
        self.cleaned_to = cleaned_to
        self._gaps = sorted(gaps)
        self._gap_lasts = [each.last for each in self._gaps]
        self.markers = LostMarkers() if markers is None else markers
        self._ranges = sorted(ranges)
        self._lasts = [each.last for each in self._ranges]

    @property
    def first(self) -> int | None:
        """The first lost offset."""
        return self._ranges[0].first if self._ranges else None

    @property
    def first_missing(self) -> int | None:
        """The first offset that is lost, or in a gap."""
        return min((each[0].first for each in (self._ranges, self._gaps) if each), default=None)

    def gaps_between(self, first: int, end: int) -> list[LostRange]:
        """Return the gaps with offsets from `first` up to `end`, which is excluded."""
        start = bisect_left(self._gap_lasts, first)
        stop = bisect_left(self._gaps, end, lo=start, key=_first_of)
        return self._gaps[start:stop]

    def may_hide(self, first: int, end: int) -> bool:
        """Return whether a marker may be missing in a range of offsets; `end` is excluded."""
        return bool(self.between(first, end) or self.gaps_between(first, end))

    def between(self, first: int, end: int | None) -> list[LostRange]:
        """Return the parts of the ranges from an offset up to another one, which is excluded."""
        found = []
        limit = UNKNOWN_END if end is None else end - 1
        for at in range(bisect_left(self._lasts, first), len(self._ranges)):
            each = self._ranges[at]
            if each.first > limit:
                break
            first_lost, last_lost = max(each.first, first), min(each.last, limit)
            found.append(LostRange(first_lost, last_lost, each.is_free))
        return found

    def has(self, offset: int) -> bool:
        """Return whether an offset is lost."""
        return bool(self.between(offset, offset + 1))

    def is_free(self, offset: int) -> bool:
        """Return whether a marker can be written to a lost offset."""
        return all(each.is_free for each in self.between(offset, offset + 1))

    def may_lack(self, offset: int) -> bool:
        """Return whether an offset is lost, or may have been removed by a cleaner or retention."""
        return offset < self.cleaned_to or self.has(offset)

    def may_lack_between(self, first: int, end: int) -> bool:
        """Return whether one of some offsets, which are in no batch, may have been a marker."""
        return bool(self.between(first, end)) or first < min(end, self.cleaned_to)

    def next_lack(self, offset: int) -> int:
        """Return the first offset from another one on that may have been a marker of the log."""
        if offset < self.cleaned_to:
            return offset
        at = bisect_left(self._lasts, offset)
        return max(offset, self._ranges[at].first) if at < len(self._ranges) else UNKNOWN_END


def _first_of(offsets: LostRange) -> int:
    return offsets.first
