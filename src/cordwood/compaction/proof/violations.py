"""Violations of a verification: with file and offset, all counted, the first ones kept.

One bug breaks a rule at every record, so later violations add no information.
"""

from typing import Final, NamedTuple

#: The number of kept violations.
KEPT: Final = 20


class Violation(NamedTuple):
    """A broken rule and its place; offset and position are -1 if unknown."""

    what: str
    file: str
    offset: int = -1
    position: int = -1
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        """Return one sentence with the place and both sides of the contradiction."""
        known = (
            f"offset {self.offset}" if self.offset >= 0 else "",
            f"position {self.position}" if self.position >= 0 else "",
            f"expected {self.expected}" if self.expected else "",
            f"found {self.found}" if self.found else "",
        )
        details = ", ".join(each for each in known if each)
        return f"{self.file}: {self.what}" + (f" ({details})" if details else "")


class Violations:
    """A collector of violations; `count` includes those not kept."""

    __slots__ = ("count", "kept")

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[Violation] = []

    def add(self, violation: Violation) -> None:
        """Add a violation."""
        self.count += 1
        if len(self.kept) < KEPT:
            self.kept.append(violation)
