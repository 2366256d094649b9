"""One measured figure with its peer, as `build/bench.json` stores it."""

from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    """The quantity that a goal is compared with."""

    RATIO = "the ratio, at least"
    VALUE = "the value, at least"
    MOST = "the value, at most"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value and, if there is a peer, the peer's value from the same run.

    `goal` is the required ratio, or the bound named by `bound`.
    """

    name: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    goal: float | None = None
    bound: Bound = Bound.RATIO

    @property
    def is_reached(self) -> bool:
        """Whether the goal is met; a figure without a goal always meets it."""
        if self.goal is None:
            return True
        if self.bound is Bound.MOST:
            return self.value <= self.goal
        if self.bound is Bound.VALUE or self.ratio is None:
            return self.value >= self.goal
        return self.ratio >= self.goal

    def __str__(self) -> str:
        """Return the figure as one line."""
        words = [f"{self.name}: {self.value:,.2f} {self.unit}"]
        if self.ratio is not None:
            words.append(f"{self.peer} {self.peer_value:,.2f}, ratio {self.ratio:.2f}")
        if self.goal is not None:
            words.append(f"goal {self.goal:g} {'reached' if self.is_reached else 'MISSED'}")
        return ", ".join(words)
