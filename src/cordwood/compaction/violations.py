"""What a verification found wrong: named by file and offset, counted all, kept as many as help.

One bug breaks a rule at every record, so after the first few more would say nothing new.
"""

from typing import Final, NamedTuple

#: So many are kept.
KEPT: Final = 20


class Violation(NamedTuple):
    """A rule that is broken, and where; offset and position are -1 where there is none."""

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
    """Gathers them; `count` goes on when no more are kept."""

    __slots__ = ("count", "kept")

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[Violation] = []

    def add(self, violation: Violation) -> None:
        """Take note of one."""
        self.count += 1
        if len(self.kept) < KEPT:
            self.kept.append(violation)
