"""What a log and a table say of the same offsets, and what follows: the rules of an audit.

                      not in the table      once                  twice, or more often
    record            missing               proven                doubled
    aborted           hole                  aborted               doubled
    marker            hole                  marker                doubled
    compacted         hole                  kept                  doubled
    expired           hole                  kept                  doubled
    untold            hole                  kept                  doubled
    gap               gap                   kept                  doubled
    behind            behind                behind                doubled

`missing`, `doubled`, `aborted`, `marker`, `gap` and `behind` are wrong; so is `unclaimed`, an
offset of which no commit of an export speaks. What lies outside of the window is not looked at, but
in a table that says what it has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.spark.jobs.audit_runs import Part, Run, counted, overlaid


class Kind(StrEnum):
    """What a log has at an offset."""

    RECORD = "record"
    ABORTED = "aborted"
    MARKER = "marker"
    COMPACTED = "compacted"
    EXPIRED = "expired"
    UNTOLD = "untold"
    GAP = "gap"
    BEHIND = "behind"


class Wrong(StrEnum):
    """What is wrong with offsets of a table."""

    MISSING = "missing"
    DOUBLED = "doubled"
    ABORTED = "aborted"
    MARKER = "marker"
    GAP = "gap"
    BEHIND = "behind"
    UNCLAIMED = "unclaimed"


#: Said of a finding, where its name alone does not tell.
MEANINGS: Final[Mapping[Wrong, str]] = {
    Wrong.MISSING: "the log has them, the table has not",
    Wrong.DOUBLED: "the table has them more than once",
    Wrong.ABORTED: "the table has them, and their transaction was aborted",
    Wrong.MARKER: "the table has them, and the log has markers there",
    Wrong.GAP: "the log lacks them, and no cleaner has taken them",
    Wrong.BEHIND: "the table has them, and the log ends before",
    Wrong.UNCLAIMED: "the table has them, and no commit says so",
}

_ABSENT: Final = {Kind.RECORD: Wrong.MISSING, Kind.GAP: Wrong.GAP, Kind.BEHIND: Wrong.BEHIND}
_PRESENT: Final = {
    Kind.ABORTED: Wrong.ABORTED,
    Kind.MARKER: Wrong.MARKER,
    Kind.BEHIND: Wrong.BEHIND,
}


class Finding(NamedTuple):
    """Offsets from `start` up to, not including, `end` that are not as they should be."""

    wrong: Wrong
    start: int
    end: int

    def __str__(self) -> str:
        """Return what is wrong, where, and what that means."""
        return f"{self.wrong}: offsets {self.start:,} to {self.end - 1:,}: {MEANINGS[self.wrong]}"


class LogSide(NamedTuple):
    """What a log has, from its start to its end, and up to where a cleaner is known to have been.

    Gaps below `cleaned_to` are the cleaner's.
    """

    start: int
    end: int
    parts: Sequence[Part[Kind]]
    cleaned_to: int = 0

    def kinds(self) -> list[Part[Kind]]:
        """Return what there is, all offsets before and behind the log included."""
        told = [part._replace(value=self._kind(part)) for part in self.parts]
        before = [Part(0, self.start, Kind.EXPIRED)] if self.start else []
        return [*before, *told, Part(self.end, INT64_MAX, Kind.BEHIND)]

    def _kind(self, part: Part[Kind]) -> Kind:
        is_taken = part.value is Kind.GAP and part.end <= self.cleaned_to
        return Kind.COMPACTED if is_taken else part.value


class Window(NamedTuple):
    """The offsets that a table is to have; `is_claimed`: by what its own commits say."""

    start: int
    end: int
    is_claimed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What follows. `proven` records are in the table once, `kept` offsets are in it alone."""

    proven: int
    findings: tuple[Finding, ...]
    holes: Mapping[Kind, int]
    kept: Mapping[Kind, int]


def compare(log: LogSide, table: Iterable[Run], *, window: Window) -> Comparison:
    """Hold offsets of a table against those of the log that they were made of."""
    proven, findings = 0, list[Finding]()
    holes: Counter[Kind] = Counter()
    kept: Counter[Kind] = Counter()
    there = overlaid(log.kinds(), counted(table))
    looked_at = [Part(window.start, window.end, window)] if window.start < window.end else []
    for start, end, (what, inside) in overlaid(there, looked_at):
        kind, count = what or (None, None)
        if kind is None or not _is_looked_at(kind, count or 0, inside=inside, window=window):
            continue
        wrong = _wrong(kind, count or 0, inside=inside)
        if wrong is not None:
            _note(findings, Finding(wrong, start, end))
        elif not count:
            holes[kind] += end - start
        elif kind is Kind.RECORD:
            proven += end - start
        else:
            kept[kind] += end - start
    return Comparison(proven=proven, findings=tuple(findings), holes=holes, kept=kept)


def _is_looked_at(kind: Kind, count: int, *, inside: Window | None, window: Window) -> bool:
    """Whether offsets say something: not those that nobody has, nor those that were not asked."""
    if inside is None:
        return window.is_claimed and count > 0
    return window.is_claimed or count > 0 or kind not in (Kind.EXPIRED, Kind.BEHIND)


def _wrong(kind: Kind, count: int, *, inside: Window | None) -> Wrong | None:
    if not count:
        return _ABSENT.get(kind)
    if count > 1:
        return Wrong.DOUBLED
    return Wrong.UNCLAIMED if inside is None else _PRESENT.get(kind)


def _note(findings: list[Finding], finding: Finding) -> None:
    """Add a finding, to the one before it if it goes on."""
    if findings and findings[-1][::2] == (finding.wrong, finding.start):
        findings[-1] = findings[-1]._replace(end=finding.end)
    else:
        findings.append(finding)
