"""Logs whose last pass failed, with the reason and the backoff until the retry.

The first backoff is the cleaner's own, and each further failure doubles it, up to an hour. A log is
retried forever, where Kafka marks its partition as uncleanable. A successful pass clears the entry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cordwood.core.types import TopicPartition

LONGEST_MS: Final = 3_600_000
_SHORTEST_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class CleaningFailure:
    """The number of failures in a row, the last reason, and the time of the retry."""

    count: int
    reason: str
    backoff_ms: int
    retry_at_ms: float


class CleaningFailures:
    """The failures of a cleaner, by partition; times are of a monotonic clock."""

    def __init__(self) -> None:
        self._failures: dict[TopicPartition, CleaningFailure] = {}

    @property
    def by_partition(self) -> Mapping[TopicPartition, CleaningFailure]:
        return MappingProxyType(self._failures)

    def record(
        self, partition: TopicPartition, reason: str, *, now_ms: float, backoff_ms: int
    ) -> CleaningFailure:
        """Record a failed pass, and return its entry."""
        before = self._failures.get(partition)
        count = 1 if before is None else before.count + 1
        first_ms = max(backoff_ms, _SHORTEST_MS)
        wait_ms = max(first_ms, min(first_ms << min(count - 1, 30), LONGEST_MS))
        failure = CleaningFailure(count, reason, wait_ms, now_ms + wait_ms)
        self._failures[partition] = failure
        return failure

    def clear(self, partition: TopicPartition) -> None:
        """Remove the entry of a log that was cleaned."""
        self._failures.pop(partition, None)

    def retain(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove the entries of all other partitions; they are not cleaned any longer."""
        kept = frozenset(partitions)
        self._failures = {each: value for each, value in self._failures.items() if each in kept}

    def is_backing_off(self, partition: TopicPartition, now_ms: float) -> bool:
        """Whether it is too early for the retry."""
        failure = self._failures.get(partition)
        return failure is not None and now_ms < failure.retry_at_ms
