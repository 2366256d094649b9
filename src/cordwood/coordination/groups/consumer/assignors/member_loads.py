"""Subscribers of one topic by their load (Kafka: `MemberAssignmentBalancer`).

The order is fixed when a topic begins: by load, then by index. From below, all members of the
lowest level receive one partition before the level rises. From above, all members of the highest
level give one away before it falls. Callers move the partition after each step, so that a level
always includes the members that have just reached it.
"""

from collections.abc import Iterable, Sequence


class MemberLoads:
    """The subscribers of one topic; `sizes` are the loads of all members, by index."""

    def __init__(self, sizes: Sequence[int], members: Iterable[int]) -> None:
        self._sizes = sizes
        self._sorted = sorted(members, key=lambda each: (sizes[each], each))
        lowest, highest = sizes[self._sorted[0]], sizes[self._sorted[-1]]
        self.imbalance = highest - lowest
        self._least_end = 0
        self._least_level = lowest - 1
        self._next_least = 0
        self._most_start = len(self._sorted)
        self._most_end = len(self._sorted)
        self._most_level = highest + 1
        self._next_most = len(self._sorted) - 1

    def is_balanced(self) -> bool:
        """Whether the levels of the last steps differ by at most one."""
        return self._most_level - self._least_level <= 1

    def next_least(self) -> int:
        """Return the member that receives the next partition."""
        if self._next_least >= self._least_end:
            self._least_level += 1
            while self._least_end < len(self._sorted) and (
                self._sizes[self._sorted[self._least_end]] == self._least_level
            ):
                self._least_end += 1
            self._next_least = 0
        found = self._sorted[self._next_least]
        self._next_least += 1
        return found

    def next_most(self) -> int | None:
        """Return the member that gives the next partition away, None if all are excluded."""
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_level = self._sizes[self._sorted[self._most_start - 1]]
            else:
                self._most_level -= 1
            while self._most_start > 0 and (
                self._sizes[self._sorted[self._most_start - 1]] == self._most_level
            ):
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        found = self._sorted[self._next_most]
        self._next_most -= 1
        return found

    def exclude_most(self) -> None:
        """Exclude the member that `next_most` returned: it has no partition of the topic."""
        at, last = self._next_most + 1, self._most_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._most_end = last
