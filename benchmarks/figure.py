"""One measured figure beside its peer, in the form that `build/bench.json` keeps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value, and where there is a peer its value from the same run.

    `goal` is what the ratio has to reach, or the value itself where there is no peer.
    """

    name: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    goal: float | None = None

    def __str__(self) -> str:
        """Return the figure as one line."""
        words = [f"{self.name}: {self.value:,.2f} {self.unit}"]
        if self.ratio is not None:
            words.append(f"{self.peer} {self.peer_value:,.2f}, ratio {self.ratio:.2f}")
        if self.goal is not None:
            reached = self.value if self.ratio is None else self.ratio
            words.append(f"goal {self.goal:g} {'reached' if reached >= self.goal else 'MISSED'}")
        return ", ".join(words)
