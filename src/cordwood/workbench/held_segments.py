"""Segments that a pass does not compact, with the facts behind each reason.

A reason that a setting decides has the value of the setting, its source, and the time from which
it no longer applies. Each reason has the option that removes it, if there is one.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cordwood.compaction.plan.candidates import (
    CandidateSegment,
    LogFacts,
    UncleanableReason,
    find_uncleanable_reasons,
)
from cordwood.workbench.quantities import time_text
from cordwood.workbench.topic_settings_lookup import FoundSettings

NOT_REQUESTED: Final = "it is at or above the requested end"

_LAG: Final = "min.compaction.lag.ms"
_LAG_OPTION: Final = f"--config {_LAG}=0"
#: The option or state that removes a reason.
_REMEDIES: Final[Mapping[UncleanableReason | None, str]] = {
    UncleanableReason.ACTIVE_SEGMENT: "--roll",
    UncleanableReason.MIN_COMPACTION_LAG: _LAG_OPTION,
    UncleanableReason.OLDER_SEGMENT: _LAG_OPTION,
    UncleanableReason.HIGH_WATERMARK: "a replica whose high watermark is higher",
    UncleanableReason.LAST_STABLE_OFFSET: "a log without this open transaction",
    None: "a larger --until",
}


@dataclass(frozen=True, slots=True)
class HeldSegment:
    """A segment that is not cleaned, and the reasons."""

    base_offset: int
    size: int
    holds: tuple[str, ...]


class HeldSegments:
    """The reasons why the segments of a log are not cleaned.

    With `is_rolled` the caller wants the active segment rolled. If it has records, it was not,
    because they would not be cleaned then either: its reasons are those after a roll.
    """

    def __init__(
        self, facts: LogFacts, found: FoundSettings, *, now_ms: int, is_rolled: bool
    ) -> None:
        self._facts = facts
        self._found = found
        shown = with_empty_active(facts) if is_rolled and facts.segments[-1].size else facts
        self._reasons = find_uncleanable_reasons(shown, now_ms)[: len(facts.segments)]
        self._young_until = max(
            each.largest_timestamp + facts.config.min_compaction_lag_ms for each in facts.segments
        )

    def beyond(self, end: int) -> tuple[HeldSegment, ...]:
        """Return the segments from an offset on."""
        return tuple(
            HeldSegment(
                each.base_offset,
                each.size,
                tuple(self._text(reason, each) for reason in reasons or (None,)),
            )
            for each, reasons in zip(self._facts.segments, self._reasons, strict=True)
            if each.base_offset >= end
        )

    def of_offsets(self, offsets: Sequence[int]) -> tuple[list[str], list[str]]:
        """Return the reasons for the segments with these offsets, and what to do about them."""
        bases = [each.base_offset for each in self._facts.segments]
        texts: dict[UncleanableReason | None, str] = {}
        for at in sorted({max(0, bisect_right(bases, each) - 1) for each in offsets}):
            for reason in self._reasons[at] or (None,):
                texts[reason] = self._text(reason, self._facts.segments[at])
        return list(texts.values()), list(dict.fromkeys(_REMEDIES[each] for each in texts))

    def _text(self, reason: UncleanableReason | None, segment: CandidateSegment) -> str:
        if reason is None:
            return NOT_REQUESTED
        details: dict[UncleanableReason, str] = {
            UncleanableReason.HIGH_WATERMARK: f" {self._facts.high_watermark}",
            UncleanableReason.LAST_STABLE_OFFSET: f" since offset {self._facts.last_stable}",
        }
        if reason in details:
            return f"{reason.value}{details[reason]}"
        if reason is UncleanableReason.ACTIVE_SEGMENT:
            return str(reason.value)
        young_until = segment.largest_timestamp + self._facts.config.min_compaction_lag_ms
        until = young_until if reason is UncleanableReason.MIN_COMPACTION_LAG else self._young_until
        lag = self._found.resolved[_LAG]
        return f"{reason.value} = {lag.value} ({lag.source}), until {time_text(until)}"


def with_empty_active(facts: LogFacts) -> LogFacts:
    """Return the facts as they are after a roll of the active segment."""
    return replace(facts, segments=(*facts.segments, CandidateSegment(facts.log_end, 0)))


def first_offsets(offsets: Sequence[int], *, shown: int = 3) -> str:
    """Return the first offsets as text, and the number of further ones."""
    more = f" and {len(offsets) - shown} more" if len(offsets) > shown else ""
    return ", ".join(map(str, offsets[:shown])) + more
