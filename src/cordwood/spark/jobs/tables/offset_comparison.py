"""Comparison of the offsets of a log and of a table: the rules of an audit.

    in the log        not in the table      once                  more than once
    record            missing               proven                doubled
    aborted           absent                aborted               doubled
    marker            absent                marker                doubled
    compacted         absent                kept                  doubled
    expired           absent                kept                  doubled
    unknown           absent                kept                  doubled
    gap               gap                   kept                  doubled
    behind            behind                behind                doubled

`missing`, `doubled`, `aborted`, `marker`, `gap` and `behind` are faults, and so is `unclaimed`: an
offset in the table that no commit of an export contains. Offsets outside of the window are not
compared, unless the table's commits state its offsets.

Both sides are arrays, and are compared in steps of `STEP_BOUNDS` bounds. So the memory is that of
the spans, 16 bytes each, and of one step.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from cordwood.core.binary import INT64_MAX
from cordwood.spark.jobs.tables.offset_spans import (
    NO_SPANS,
    Offsets,
    OffsetSpans,
    concatenate,
    merge_spans,
)

#: Bounds of spans that are compared at a time.
STEP_BOUNDS: Final = 1 << 14

_NONE: Final = -1
_NO_NUMBERS: Final[NDArray[np.int8]] = np.empty(0, np.int8)


class OffsetKind(StrEnum):
    """The content of a log at an offset."""

    RECORD = "record"
    ABORTED = "aborted"
    MARKER = "marker"
    COMPACTED = "compacted"
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    GAP = "gap"
    BEHIND = "behind"


class OffsetFault(StrEnum):
    """A fault of offsets in a table."""

    MISSING = "missing"
    DOUBLED = "doubled"
    ABORTED = "aborted"
    MARKER = "marker"
    GAP = "gap"
    BEHIND = "behind"
    UNCLAIMED = "unclaimed"
    ALTERED = "altered"


#: Explanations of the faults, in reports.
MEANINGS: Final[Mapping[OffsetFault, str]] = {
    OffsetFault.MISSING: "in the log, but not in the table",
    OffsetFault.DOUBLED: "more than once in the table",
    OffsetFault.ABORTED: "in the table, but their transaction was aborted",
    OffsetFault.MARKER: "in the table, but transaction markers in the log",
    OffsetFault.GAP: "missing in the log, but not removed by compaction",
    OffsetFault.BEHIND: "in the table, but after the end of the log",
    OffsetFault.UNCLAIMED: "in the table, but in no commit of an export",
    OffsetFault.ALTERED: "a row among these differs from its record in the log",
}

_ABSENT: Final = {
    OffsetKind.RECORD: OffsetFault.MISSING,
    OffsetKind.GAP: OffsetFault.GAP,
    OffsetKind.BEHIND: OffsetFault.BEHIND,
}
_PRESENT: Final = {
    OffsetKind.ABORTED: OffsetFault.ABORTED,
    OffsetKind.MARKER: OffsetFault.MARKER,
    OffsetKind.BEHIND: OffsetFault.BEHIND,
}
_KINDS: Final = tuple(OffsetKind)
_FAULTS: Final = tuple(OffsetFault)
_NUMBERS: Final = {kind: number for number, kind in enumerate(OffsetKind)}
_RECORD: Final = _NUMBERS[OffsetKind.RECORD]
_OUTSIDE_LOG: Final = [_NUMBERS[OffsetKind.EXPIRED], _NUMBERS[OffsetKind.BEHIND]]


class OffsetFinding(NamedTuple):
    """A fault of the offsets from `start` to `end`, `end` excluded."""

    fault: OffsetFault
    start: int
    end: int

    def __str__(self) -> str:
        """Return the fault, the offsets and the explanation."""
        return f"{self.fault}: offsets {self.start:,} to {self.end - 1:,}: {MEANINGS[self.fault]}"


class OffsetFindings(Sequence[OffsetFinding]):
    """Findings in order, in 17 bytes each: a bad table has as many as it has spans."""

    __slots__ = ("_numbers", "spans")

    def __init__(
        self, spans: OffsetSpans = NO_SPANS, numbers: NDArray[np.int8] = _NO_NUMBERS
    ) -> None:
        self.spans = spans
        self._numbers = numbers

    @classmethod
    def of(cls, spans: OffsetSpans, fault: OffsetFault) -> "OffsetFindings":
        """Return the findings of one fault."""
        return cls(spans, np.full(spans.count, _FAULTS.index(fault), np.int8))

    def __len__(self) -> int:
        return self.spans.count

    @overload
    def __getitem__(self, index: int) -> OffsetFinding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[OffsetFinding, ...]: ...
    def __getitem__(self, index: int | slice) -> OffsetFinding | tuple[OffsetFinding, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(len(self))))
        fault = _FAULTS[self._numbers[index]]
        return OffsetFinding(fault, int(self.spans.starts[index]), int(self.spans.ends[index]))

    def count_by_fault(self) -> Counter[OffsetFault]:
        """Return the number of findings of each fault."""
        counts = np.bincount(self._numbers, minlength=len(_FAULTS)).tolist()
        return Counter(
            {fault: count for fault, count in zip(_FAULTS, counts, strict=True) if count}
        )


class KindSpans(NamedTuple):
    """Spans that do not overlap, and the number of each one's kind."""

    spans: OffsetSpans
    numbers: NDArray[np.int8]

    @classmethod
    def of(cls, spans: OffsetSpans, kind: OffsetKind) -> "KindSpans":
        """Return spans of one kind."""
        return cls(spans, np.full(spans.count, _NUMBERS[kind], np.int8))

    def at(self, offsets: Offsets) -> NDArray[np.int8]:
        """Return the number of the kind at each offset, -1 where there is none."""
        found = np.full(len(offsets), _NONE, np.int8)
        if self.spans.count:
            places = np.searchsorted(self.spans.starts, offsets, side="right") - 1
            is_inside = (places >= 0) & (self.spans.ends[places] > offsets)
            found[is_inside] = self.numbers[places[is_inside]]
        return found


def join_kinds(parts: Sequence[KindSpans]) -> KindSpans:
    """Return the spans of all parts by their start."""
    spans = concatenate(each.spans for each in parts)
    numbers = np.concatenate([_NO_NUMBERS, *(each.numbers for each in parts)])
    if np.any(np.diff(spans.starts) < 0):
        order = np.argsort(spans.starts, kind="stable")
        spans, numbers = OffsetSpans(spans.starts[order], spans.ends[order]), numbers[order]
    return KindSpans(spans, numbers)


class LogSide:
    """The content of a log from its start to its end.

    `parts` have the kinds of their offsets. Other offsets have the kinds in `rest`: spans of whole
    splits. Gaps below `cleaned_to` were left by compaction. Offsets in neither are not compared.
    """

    __slots__ = ("end", "parts", "rest", "start")

    def __init__(
        self, start: int, end: int, parts: KindSpans, *, rest: KindSpans, cleaned_to: int = 0
    ) -> None:
        before = KindSpans.of(OffsetSpans.of([(0, start)] if start else []), OffsetKind.EXPIRED)
        behind = KindSpans.of(OffsetSpans.of([(end, INT64_MAX)]), OffsetKind.BEHIND)
        self.start = start
        self.end = end
        self.parts = _without_compacted(parts, cleaned_to)
        self.rest = join_kinds([before, _without_compacted(rest, cleaned_to), behind])

    def kinds_at(self, offsets: Offsets) -> NDArray[np.int8]:
        """Return the number of the kind at each offset, -1 where there is none."""
        found = self.parts.at(offsets)
        is_open = found == _NONE
        found[is_open] = self.rest.at(offsets[is_open])
        return found


def _without_compacted(parts: KindSpans, cleaned_to: int) -> KindSpans:
    is_gap = parts.numbers == _NUMBERS[OffsetKind.GAP]
    is_compacted = is_gap & (parts.spans.ends <= cleaned_to)
    numbers = np.where(is_compacted, np.int8(_NUMBERS[OffsetKind.COMPACTED]), parts.numbers)
    return KindSpans(parts.spans, numbers)


class AuditWindow(NamedTuple):
    """The offsets that a table must have; `is_claimed`: its own commits state them."""

    start: int
    end: int
    is_claimed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetComparison:
    """The result: `proven` records are in the table once; `proven_spans` has them, if kept.

    `absent` counts offsets without a record in either, `kept` offsets in the table only.
    """

    proven: int
    findings: OffsetFindings
    absent: Mapping[OffsetKind, int]
    kept: Mapping[OffsetKind, int]
    proven_spans: OffsetSpans = NO_SPANS


def compare_offsets(
    log: LogSide, table: OffsetSpans, *, window: AuditWindow, keeps_proven: bool = False
) -> OffsetComparison:
    """Compare the offsets of a table with those of its log.

    `table` has its starts and its ends sorted, each for itself (`sort_bounds`).
    """
    absent: Counter[OffsetKind] = Counter()
    kept: Counter[OffsetKind] = Counter()
    proven, spans, faults = 0, list[OffsetSpans](), list[KindSpans]()
    for bounds in _steps(log, table, window):
        step = _compare_step(log, table, window=window, bounds=bounds)
        is_present = step.is_quiet & (step.counts > 0)
        _count_kinds(absent, step, step.is_quiet & ~is_present)
        _count_kinds(kept, step, is_present & (step.kinds != _RECORD))
        found = step.spans(is_present & (step.kinds == _RECORD))
        proven += found.total
        if keeps_proven:
            spans.append(found)
        faults.append(_merge_faults([step.faulty()]))
    return OffsetComparison(
        proven=proven,
        findings=OffsetFindings(*_merge_faults(faults)),
        absent=absent,
        kept=kept,
        proven_spans=merge_spans(spans),
    )


class _Step(NamedTuple):
    """Spans between adjacent bounds; `is_quiet` those that are compared and have no fault."""

    firsts: Offsets
    ends: Offsets
    kinds: NDArray[np.int8]
    counts: NDArray[np.int64]
    faults: NDArray[np.int8]
    is_quiet: NDArray[np.bool_]

    def spans(self, which: NDArray[np.bool_]) -> OffsetSpans:
        return merge_spans([OffsetSpans(self.firsts[which], self.ends[which])])

    def faulty(self) -> KindSpans:
        which = self.faults != _NONE
        return KindSpans(OffsetSpans(self.firsts[which], self.ends[which]), self.faults[which])


def _compare_step(
    log: LogSide, table: OffsetSpans, *, window: AuditWindow, bounds: Offsets
) -> _Step:
    firsts, ends = bounds[:-1], bounds[1:]
    kinds, counts = log.kinds_at(firsts), table.count_at(firsts)
    is_inside = (firsts >= window.start) & (firsts < window.end)
    is_present = counts > 0
    is_compared = is_inside | is_present
    if not window.is_claimed:
        is_compared = is_inside & (is_present | ~np.isin(kinds, _OUTSIDE_LOG))
    is_compared &= kinds != _NONE
    # A kind of -1 is not compared: the rule that it picks does not matter.
    faults = _RULES[kinds, np.minimum(counts, 2), is_inside.astype(np.int8)]
    faults = np.where(is_compared, faults, np.int8(_NONE))
    return _Step(firsts, ends, kinds, counts, faults, is_compared & (faults == _NONE))


def _steps(log: LogSide, table: OffsetSpans, window: AuditWindow) -> Iterator[Offsets]:
    """Yield the bounds of each step: in each, nothing changes between two of its bounds."""
    own = np.array([0, window.start, window.end, INT64_MAX], np.int64)
    sides = (log.parts.spans, log.rest.spans, table)
    columns = [np.unique(own), *(each.starts for each in sides), *(each.ends for each in sides)]
    first = 0
    while first < INT64_MAX:
        places = [int(np.searchsorted(column, first, side="right")) for column in columns]
        limits = [
            int(column[place + STEP_BOUNDS])
            for column, place in zip(columns, places, strict=True)
            if place + STEP_BOUNDS < len(column)
        ]
        last = min(limits, default=INT64_MAX)
        within = [
            column[place : int(np.searchsorted(column, last))]
            for column, place in zip(columns, places, strict=True)
        ]
        yield np.unique(np.concatenate([[first], *within, [last]]).astype(np.int64, copy=False))
        first = last


def _count_kinds(counter: Counter[OffsetKind], step: _Step, which: NDArray[np.bool_]) -> None:
    sizes, kinds = (step.ends - step.firsts)[which], step.kinds[which]
    for number in np.unique(kinds).tolist():
        counter[_KINDS[number]] += int(np.sum(sizes[kinds == number]))


def _merge_faults(parts: Sequence[KindSpans]) -> KindSpans:
    """Return the faults; adjacent ones of the same kind become one."""
    spans = concatenate(each.spans for each in parts)
    starts, ends = spans.starts, spans.ends
    numbers = np.concatenate([_NO_NUMBERS, *(each.numbers for each in parts)])
    is_first = np.ones(len(starts), np.bool_)
    is_first[1:] = (starts[1:] != ends[:-1]) | (numbers[1:] != numbers[:-1])
    is_last = np.roll(is_first, -1)
    return KindSpans(OffsetSpans(starts[is_first], ends[is_last]), numbers[is_first])


def _fault_of(kind: OffsetKind, count: int, *, is_inside: bool) -> OffsetFault | None:
    if not count:
        return _ABSENT.get(kind)
    if count > 1:
        return OffsetFault.DOUBLED
    return _PRESENT.get(kind) if is_inside else OffsetFault.UNCLAIMED


def _rules() -> NDArray[np.int8]:
    """Return the number of the fault by kind, by count (2: more than once) and by the window."""
    rules = np.full((len(_KINDS), 3, 2), _NONE, np.int8)
    for number, count, is_inside in product(range(len(_KINDS)), range(3), (False, True)):
        fault = _fault_of(_KINDS[number], count, is_inside=is_inside)
        if fault is not None:
            rules[number, count, int(is_inside)] = _FAULTS.index(fault)
    return rules


_RULES: Final = _rules()
