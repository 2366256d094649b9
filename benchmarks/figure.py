"""One measured figure beside its peer, in the form that `build/bench.json` keeps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value, the peer's value from the same run, and the ratio that has to reach the goal."""

    name: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    goal: float | None = None
