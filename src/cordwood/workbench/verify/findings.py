"""Findings of a verification: place, affected offsets, cause and remedy.

damage   written data are missing, or a file contradicts the log
note     nothing is wrong, but worth knowing: a torn tail, leftovers, gaps from compaction
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Final

from cordwood.core.errors import BadRecordsError, DamagedFileError

RESTORE: Final = "restore the file from a replica, or read the batches before and after it"
LOST: Final = "records are lost; restore them from a replica"
REBUILD: Final = "remove the file: it is rebuilt from the log when the log is next opened"


_SHOWN: Final = 3


class Severity(StrEnum):
    """The severity of a finding."""

    DAMAGE = "damage"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyFinding:
    """One finding. `position` is a byte position, or a line number in a text file.

    Affected are the offsets from `first_offset` up to but not including `end_offset`; None means
    unknown.
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
    """The result for one partition, or for one segment of it."""

    path: str
    partition: str | None
    log_start: int
    log_end: int
    segments: int
    batches: int
    records: int
    size: int
    tail_bytes: int = 0
    findings: tuple[VerifyFinding, ...] = ()

    @property
    def is_damaged(self) -> bool:
        return any(each.severity is Severity.DAMAGE for each in self.findings)

    def __str__(self) -> str:
        """Return the partition as one line."""
        damages = sum(each.severity is Severity.DAMAGE for each in self.findings)
        return (
            f"{'DAMAGED' if damages else 'good'}: {self.path}: "
            f"offsets {self.log_start} to {self.log_end - 1}, "
            f"{_count(self.segments, 'segment')}, {_count(self.batches, 'batch', 'es')}, "
            f"{_count(self.records, 'record')}, {_count(self.size, 'byte')}"
            + (f"; {_count(damages, 'damage')}" if damages else "")
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

    def __str__(self) -> str:
        """Return one line for each partition and each finding."""
        return "\n".join(map(str, (*self.partitions, *self.all_findings))) or "no partitions"

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps({"is_damaged": self.is_damaged, **asdict(self)})


def damage(
    path: str, cause: str, *, remedy: str = RESTORE, **known: int | str | None
) -> VerifyFinding:
    """Return a finding of damage."""
    return VerifyFinding(severity=Severity.DAMAGE, path=path, cause=cause, remedy=remedy, **known)  # type: ignore[arg-type]  # the names decide the types


def note(
    path: str, cause: str, *, remedy: str = "nothing to do", **known: int | None
) -> VerifyFinding:
    """Return a finding that is a note."""
    return VerifyFinding(severity=Severity.NOTE, path=path, cause=cause, remedy=remedy, **known)


def file_finding(error: DamagedFileError) -> VerifyFinding:
    """Return the error of a side file's reader as a finding."""
    return damage(
        error.path,
        error.what,
        remedy=error.remedy,
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


def first_names(names: Sequence[str]) -> str:
    """Return the first names as text, and the number of further ones."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"
