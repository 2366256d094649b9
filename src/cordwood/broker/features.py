"""Features of the cluster, as clients learn of them: some change what a client sends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Levels(NamedTuple):
    """The lowest and the highest level of a feature."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Features:
    """What this broker could do, and what the cluster has agreed on as of an epoch.

    Clients believe what was agreed on only if the epoch is 0 or more.
    """

    supported: Mapping[str, Levels] = field(default_factory=dict)
    finalized: Mapping[str, Levels] = field(default_factory=dict)
    epoch: int = 0
