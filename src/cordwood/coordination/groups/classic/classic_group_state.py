"""States of a classic group, and the transitions between them (Kafka: `ClassicGroupState`).

Empty                no members; offsets can be committed without a member
PreparingRebalance   members join the next generation, and their JoinGroup requests wait
CompletingRebalance  the generation has its members, which wait for the leader's assignments
Stable               every member has or can get its assignment
Dead                 the group is deleted, or this broker coordinates it no longer
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


class ClassicGroupState(Enum):
    """A state, with its name in responses."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    def can_follow(self, previous: "ClassicGroupState") -> bool:
        """Return whether a group may come into this state from another one."""
        return previous in _PREVIOUS[self]


_PREVIOUS: Final[Mapping[ClassicGroupState, frozenset[ClassicGroupState]]] = MappingProxyType(
    {
        ClassicGroupState.EMPTY: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
        ClassicGroupState.PREPARING_REBALANCE: frozenset(
            {
                ClassicGroupState.STABLE,
                ClassicGroupState.COMPLETING_REBALANCE,
                ClassicGroupState.EMPTY,
            }
        ),
        ClassicGroupState.COMPLETING_REBALANCE: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
        ClassicGroupState.STABLE: frozenset({ClassicGroupState.COMPLETING_REBALANCE}),
        ClassicGroupState.DEAD: frozenset(ClassicGroupState),
    }
)
