"""Logs whose last pass has failed: why, and when they are tried again.

The first time that is after the cleaner's own back-off, and after twice as long each time it fails
again, up to an hour. No log is given up; a pass that comes to its end is the end of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cordwood.core.types import TopicPartition

LONGEST_MS: Final = 3_600_000
_SHORTEST_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Setback:
    """How often a log could not be cleaned in a row, the last reason, and when it is its turn."""

    count: int
    reason: str
    wait_ms: int
    until_ms: float


class Setbacks:
    """Those of a cleaner, by partition; times are those of a clock that never goes back."""

    def __init__(self) -> None:
        self._known: dict[TopicPartition, Setback] = {}

    @property
    def known(self) -> Mapping[TopicPartition, Setback]:
        return MappingProxyType(self._known)

    def note(
        self, partition: TopicPartition, reason: str, *, now_ms: float, backoff_ms: int
    ) -> Setback:
        """A pass has come to nothing: return what follows."""
        before = self._known.get(partition)
        count = 1 if before is None else before.count + 1
        first_ms = max(backoff_ms, _SHORTEST_MS)
        wait_ms = max(first_ms, min(first_ms << min(count - 1, 30), LONGEST_MS))
        setback = self._known[partition] = Setback(count, reason, wait_ms, now_ms + wait_ms)
        return setback

    def clear(self, partition: TopicPartition) -> None:
        """All is well with a log again."""
        self._known.pop(partition, None)

    def keep(self, partitions: Iterable[TopicPartition]) -> None:
        """Know of these alone: the others are not cleaned any more."""
        kept = frozenset(partitions)
        self._known = {each: value for each, value in self._known.items() if each in kept}

    def is_waiting(self, partition: TopicPartition, now_ms: float) -> bool:
        """Whether it is too early to try again."""
        setback = self._known.get(partition)
        return setback is not None and now_ms < setback.until_ms
