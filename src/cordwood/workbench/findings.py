"""What a verification finds: where, which offsets it touches, why, and what to do.

damage   something that was written is not there any more, or contradicts the log
note     worth knowing, and nothing is wrong: a torn tail, leftovers, gaps a cleaner left
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Final

from cordwood.core.errors import BadRecordsError, DamagedFileError

RESTORE: Final = "restore the file from a replica, or read what is before and behind it"
LOST: Final = "restore what is missing from a replica: records are lost"
REBUILD: Final = "remove it: indexes are rebuilt from the log when it is next opened"


_SHOWN: Final = 3


class Severity(StrEnum):
    """Whether a finding is to worry about."""

    DAMAGE = "damage"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. `position` is a byte of the file, or a line where it is text.

    Offsets from `first_offset` up to, not including, `end_offset` are affected; None: not known.
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
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))


def offsets_text(first: int, end: int | None) -> str:
    """Return offsets from `first` up to, not including, `end`, which may not be known."""
    if end is None:
        return f"offsets from {first} on"
    return f"offset {first}" if end == first + 1 else f"offsets {first} to {end - 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedPartition:
    """One partition as it was found. Of a single segment's file, what is known of that alone."""

    path: str
    partition: str | None
    log_start: int
    log_end: int
    segments: int
    batches: int
    records: int
    size: int
    tail_bytes: int = 0
    findings: tuple[Finding, ...] = ()

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
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was verified. `findings` are about files that belong to no single partition."""

    partitions: tuple[VerifiedPartition, ...] = ()
    findings: tuple[Finding, ...] = field(default=())

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """All findings, those of partitions first."""
        inside = [found for each in self.partitions for found in each.findings]
        return (*inside, *self.findings)

    @property
    def damages(self) -> tuple[Finding, ...]:
        """The findings that are damage."""
        return tuple(each for each in self.all_findings if each.severity is Severity.DAMAGE)

    @property
    def is_damaged(self) -> bool:
        return bool(self.damages)

    def __str__(self) -> str:
        """Return a line a partition and a line a finding."""
        return "\n".join(map(str, (*self.partitions, *self.all_findings))) or "no partitions"

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps({"is_damaged": self.is_damaged, **asdict(self)})


def damage(path: str, cause: str, *, remedy: str = RESTORE, **known: int | str | None) -> Finding:
    """Return a finding that something is wrong."""
    return Finding(severity=Severity.DAMAGE, path=path, cause=cause, remedy=remedy, **known)  # type: ignore[arg-type]  # the names decide the types


def note(path: str, cause: str, *, remedy: str = "nothing to do", **known: int | None) -> Finding:
    """Return a finding that nothing is wrong with."""
    return Finding(severity=Severity.NOTE, path=path, cause=cause, remedy=remedy, **known)


def of_file(error: DamagedFileError) -> Finding:
    """Return what the reader of a side file has found."""
    return damage(
        error.path,
        error.what,
        remedy=error.remedy,
        position=error.position,
        expected=error.expected,
        found=error.found,
    )


def of_batch(
    error: BadRecordsError, path: str, *, position: int, offsets: tuple[int, int | None]
) -> Finding:
    """Return what the reader of records has found at a position of a file."""
    return damage(
        path,
        str(error.args[0]),
        position=position,
        first_offset=offsets[0],
        end_offset=offsets[1],
        expected=error.expected,
        found=error.found,
    )


def in_both(before: Iterable[Finding], after: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return what is found still, and of notes what was found last."""
    known = set(before)
    return tuple(each for each in after if each.severity is Severity.NOTE or each in known)


def some_of(names: Sequence[str]) -> str:
    """Return the first of some names as text, and how many there are besides."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"
