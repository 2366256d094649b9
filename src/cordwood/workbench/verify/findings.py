"""Findings of a verification: place, affected offsets, cause and remedy.

damage   written data are missing, or a file contradicts the log
note     nothing is wrong, but worth knowing: a torn tail, leftovers, gaps from compaction
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from shlex import quote
from typing import Final

from cordwood.core.counts import counted, first_names, offsets_of_log
from cordwood.core.errors import BadRecordsError, DamagedFileError

#: Stands in a remedy for the path of the partition.
_DIRECTORY: Final = "{directory}"
SALVAGE: Final = f"cordwood log salvage {_DIRECTORY} --out NEWDIR"
REINDEX: Final = f"cordwood log reindex {_DIRECTORY}"
RESTORE: Final = f"restore the file from a replica, or run: {SALVAGE}"
LOST: Final = f"restore the records from a replica, or keep the others with: {SALVAGE}"
GONE: Final = "restore the records from a replica; the others are readable"
REBUILD: Final = f"stop the broker and run: {REINDEX}"

#: The ends of the names of files that `reindex` rebuilds although they are damaged.
_REBUILT: Final = (".snapshot", ".txnindex", "leader-epoch-checkpoint")


class Severity(StrEnum):
    """The severity of a finding."""

    DAMAGE = "damage"
    NOTE = "note"


class Verdict(StrEnum):
    """Whether a partition has lost records: the same for every command, see `verdicts`."""

    WHOLE = "whole"
    REPAIRABLE = "repairable"
    LOST = "records lost"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyFinding:
    """One finding. `position` is a byte position, or a line number in a text file.

    Affected are the offsets from `first_offset` up to but not including `end_offset`; None means
    unknown. With `is_unverified` the files do not show whether records are lost.
    """

    severity: Severity
    path: str
    cause: str
    remedy: str
    position: int | None = None
    first_offset: int | None = None
    end_offset: int | None = None
    expected: int | str | None = None
    found: int | str | None = None
    is_unverified: bool = False

    def in_directory(self, path: str) -> "VerifyFinding":
        """Return the finding with the path of its partition in the commands of its remedy."""
        if _DIRECTORY not in self.remedy:
            return self
        return replace(self, remedy=self.remedy.replace(_DIRECTORY, quote(path)))

    def __str__(self) -> str:
        """Return the finding as one line."""
        known = {"position": self.position, "expected": self.expected, "found": self.found}
        details = [f"{name} {value}" for name, value in known.items() if value is not None]
        if self.first_offset is not None:
            details.append(offsets_text(self.first_offset, self.end_offset))
        place = f" ({', '.join(details)})" if details else ""
        return f"{self.severity}: {self.path}: {self.cause}{place}; {self.remedy}"

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(asdict(self))


def offsets_text(first: int, end: int | None) -> str:
    """Return the range from `first` up to but not including `end` as text; None means unknown."""
    if end is None:
        return f"offsets from {first} on"
    return f"offset {first}" if end == first + 1 else f"offsets {first} to {end - 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedPartition:
    """The result for one partition, or for one segment of it.

    `verdict` is None for a segment, and if the partition changed during the check. `lost` and
    `doubtful` are the ranges of offsets that it is based on, both ends included; the end of a range
    is None if it is unknown.
    """

    path: str
    partition: str | None
    log_start: int
    log_end: int
    segments: int
    batches: int
    records: int
    size: int
    tail_bytes: int = 0
    is_segment: bool = False
    findings: tuple[VerifyFinding, ...] = ()
    verdict: Verdict | None = None
    lost: tuple[tuple[int, int | None], ...] = ()
    doubtful: tuple[tuple[int, int | None], ...] = ()

    @property
    def is_damaged(self) -> bool:
        return any(each.severity is Severity.DAMAGE for each in self.findings)

    @property
    def is_wrong(self) -> bool:
        """Whether someone has to act: there is damage, or a loss cannot be excluded."""
        return self.is_damaged or self.verdict is Verdict.UNVERIFIED

    @property
    def verdict_line(self) -> str | None:
        """The verdict with the command that follows from it; None for a whole partition."""
        if self.verdict in (None, Verdict.WHOLE):
            return None
        lost = [
            offsets_text(first, None if last is None else last + 1) for first, last in self.lost
        ]
        shown = f": {first_names(lost)}" if lost else ""
        return f"verdict: {self.path}: {self.verdict}{shown}; {self._advice()}"

    def _advice(self) -> str:
        remedies = [each.remedy for each in self.findings if each.severity is Severity.DAMAGE]
        salvage, rebuild = (
            advice.replace(_DIRECTORY, quote(self.path)) for advice in (SALVAGE, REBUILD)
        )
        if any(salvage in each for each in remedies):
            return f"run: {salvage}"
        if remedies and all(rebuild in each for each in remedies):
            return rebuild
        return "restore them from a replica" if self.lost else "see the findings above"

    def __str__(self) -> str:
        """Return the partition as one line."""
        damages = sum(each.severity is Severity.DAMAGE for each in self.findings)
        return (
            f"{'DAMAGED' if damages else 'good'}: {self.path}: "
            f"{offsets_of_log(self.log_start, self.log_end)}, "
            f"{counted(self.segments, 'segment')}, "
            f"{counted(self.batches, 'batch', plural='batches')}, "
            f"{counted(self.records, 'record')}, {counted(self.size, 'byte')}"
            + (f"; {counted(damages, 'problem')}" if damages else "")
        )

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of a verification. `findings` concern files of the log directory itself."""

    partitions: tuple[VerifiedPartition, ...] = ()
    findings: tuple[VerifyFinding, ...] = field(default=())

    @property
    def all_findings(self) -> tuple[VerifyFinding, ...]:
        """Return all findings, those of partitions first."""
        inside = [found for each in self.partitions for found in each.findings]
        return (*inside, *self.findings)

    @property
    def damages(self) -> tuple[VerifyFinding, ...]:
        """Return the findings that are damage."""
        return tuple(each for each in self.all_findings if each.severity is Severity.DAMAGE)

    @property
    def is_damaged(self) -> bool:
        return bool(self.damages)

    @property
    def is_wrong(self) -> bool:
        """Whether someone has to act."""
        return self.is_damaged or any(each.is_wrong for each in self.partitions)

    def __str__(self) -> str:
        """Return one line for each partition, each finding, and each verdict that is not whole."""
        verdicts = [line for each in self.partitions if (line := each.verdict_line) is not None]
        lines = (*map(str, (*self.partitions, *self.all_findings)), *verdicts)
        return "\n".join(lines) or "no partitions"

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps({"is_damaged": self.is_damaged, **asdict(self)})


def damage(
    path: str, cause: str, *, remedy: str = RESTORE, **known: int | str | None
) -> VerifyFinding:
    """Return a finding of damage."""
    return VerifyFinding(severity=Severity.DAMAGE, path=path, cause=cause, remedy=remedy, **known)  # type: ignore[arg-type]  # the names decide the types


def note(
    path: str,
    cause: str,
    *,
    remedy: str = "nothing to do",
    is_unverified: bool = False,
    **known: int | None,
) -> VerifyFinding:
    """Return a finding that is a note."""
    return VerifyFinding(
        severity=Severity.NOTE,
        path=path,
        cause=cause,
        remedy=remedy,
        is_unverified=is_unverified,
        **known,
    )


def file_finding(error: DamagedFileError) -> VerifyFinding:
    """Return the error of a side file's reader as a finding."""
    is_rebuilt = error.path.endswith(_REBUILT)
    return damage(
        error.path,
        error.what,
        remedy=f"{error.remedy}; or {REBUILD}" if is_rebuilt else error.remedy,
        position=error.position,
        expected=error.expected,
        found=error.found,
    )


def batch_finding(
    error: BadRecordsError, path: str, *, position: int, offsets: tuple[int, int | None]
) -> VerifyFinding:
    """Return the error of the record reader at a position of a file as a finding."""
    return damage(
        path,
        str(error.args[0]),
        position=position,
        first_offset=offsets[0],
        end_offset=offsets[1],
        expected=error.expected,
        found=error.found,
    )


def confirmed_findings(
    before: Iterable[VerifyFinding], after: Iterable[VerifyFinding]
) -> tuple[VerifyFinding, ...]:
    """Return the findings of the second check that are notes, or were in the first one too."""
    known = set(before)
    return tuple(each for each in after if each.severity is Severity.NOTE or each in known)
