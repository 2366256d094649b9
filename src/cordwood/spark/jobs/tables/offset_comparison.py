"""Comparison of the offsets of a log and of a table: the rules of an audit.

    in the log        not in the table      once                  more than once
    record            missing               proven                doubled
    aborted           absent                aborted               doubled
    marker            absent                marker                doubled
    compacted         absent                kept                  doubled
    expired           absent                kept                  doubled
    untold            absent                kept                  doubled
    gap               gap                   kept                  doubled
    behind            behind                behind                doubled

`missing`, `doubled`, `aborted`, `marker`, `gap` and `behind` are faults, and so is `unclaimed`: an
offset in the table that no commit of an export contains. Offsets outside of the window are not
compared, unless the table's commits state its offsets.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.spark.jobs.tables.offset_spans import LayerSpan, OffsetSpan, count_overlaps, overlay


class OffsetKind(StrEnum):
    """The content of a log at an offset."""

    RECORD = "record"
    ABORTED = "aborted"
    MARKER = "marker"
    COMPACTED = "compacted"
    EXPIRED = "expired"
    UNTOLD = "untold"
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


#: Explanations of the faults, in reports.
MEANINGS: Final[Mapping[OffsetFault, str]] = {
    OffsetFault.MISSING: "in the log, but not in the table",
    OffsetFault.DOUBLED: "more than once in the table",
    OffsetFault.ABORTED: "in the table, but their transaction was aborted",
    OffsetFault.MARKER: "in the table, but transaction markers in the log",
    OffsetFault.GAP: "missing in the log, but not removed by compaction",
    OffsetFault.BEHIND: "in the table, but after the end of the log",
    OffsetFault.UNCLAIMED: "in the table, but in no commit of an export",
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


class OffsetFinding(NamedTuple):
    """A fault of the offsets from `start` to `end`, `end` excluded."""

    fault: OffsetFault
    start: int
    end: int

    def __str__(self) -> str:
        """Return the fault, the offsets and the explanation."""
        return f"{self.fault}: offsets {self.start:,} to {self.end - 1:,}: {MEANINGS[self.fault]}"


class LogSide(NamedTuple):
    """The content of a log from its start to its end.

    Gaps below `cleaned_to` were left by compaction.
    """

    start: int
    end: int
    parts: Sequence[LayerSpan[OffsetKind]]
    cleaned_to: int = 0

    def kinds(self) -> list[LayerSpan[OffsetKind]]:
        """Return the content of all offsets, also before and after the log."""
        inside = [part._replace(value=self._kind(part)) for part in self.parts]
        before = [LayerSpan(0, self.start, OffsetKind.EXPIRED)] if self.start else []
        return [*before, *inside, LayerSpan(self.end, INT64_MAX, OffsetKind.BEHIND)]

    def _kind(self, part: LayerSpan[OffsetKind]) -> OffsetKind:
        is_compacted = part.value is OffsetKind.GAP and part.end <= self.cleaned_to
        return OffsetKind.COMPACTED if is_compacted else part.value


class AuditWindow(NamedTuple):
    """The offsets that a table must have; `is_claimed`: its own commits state them."""

    start: int
    end: int
    is_claimed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetComparison:
    """The result: `proven` records are in the table once.

    `absent` counts offsets without a record in either, `kept` offsets in the table only.
    """

    proven: int
    findings: tuple[OffsetFinding, ...]
    absent: Mapping[OffsetKind, int]
    kept: Mapping[OffsetKind, int]


def compare_offsets(
    log: LogSide, table: Iterable[OffsetSpan], *, window: AuditWindow
) -> OffsetComparison:
    """Compare the offsets of a table with those of its log."""
    proven, findings = 0, list[OffsetFinding]()
    absent: Counter[OffsetKind] = Counter()
    kept: Counter[OffsetKind] = Counter()
    both = overlay(log.kinds(), count_overlaps(table))
    inside_window = (
        [LayerSpan(window.start, window.end, window)] if window.start < window.end else []
    )
    for start, end, (content, inside) in overlay(both, inside_window):
        kind, count = content or (None, None)
        if kind is None or not _is_compared(kind, count or 0, inside=inside, window=window):
            continue
        fault = _fault_of(kind, count or 0, inside=inside)
        if fault is not None:
            _append_finding(findings, OffsetFinding(fault, start, end))
        elif not count:
            absent[kind] += end - start
        elif kind is OffsetKind.RECORD:
            proven += end - start
        else:
            kept[kind] += end - start
    return OffsetComparison(proven=proven, findings=tuple(findings), absent=absent, kept=kept)


def _is_compared(
    kind: OffsetKind, count: int, *, inside: AuditWindow | None, window: AuditWindow
) -> bool:
    """Return whether offsets are compared: not those in neither, nor those outside the window."""
    if inside is None:
        return window.is_claimed and count > 0
    return window.is_claimed or count > 0 or kind not in (OffsetKind.EXPIRED, OffsetKind.BEHIND)


def _fault_of(kind: OffsetKind, count: int, *, inside: AuditWindow | None) -> OffsetFault | None:
    if not count:
        return _ABSENT.get(kind)
    if count > 1:
        return OffsetFault.DOUBLED
    return OffsetFault.UNCLAIMED if inside is None else _PRESENT.get(kind)


def _append_finding(findings: list[OffsetFinding], finding: OffsetFinding) -> None:
    """Append a finding; extend the last one if it has the same fault and is adjacent."""
    if findings and findings[-1][::2] == (finding.fault, finding.start):
        findings[-1] = findings[-1]._replace(end=finding.end)
    else:
        findings.append(finding)
