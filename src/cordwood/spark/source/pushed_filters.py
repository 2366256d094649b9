"""Filters that the source applies itself, as bounds on the rows to read.

Partitions outside the bounds are not opened. Offsets outside are cut off at both ends, as are all
records before the first one that is not too old. Timestamps need not rise with offsets, so a
record that is too new may have any offset: such records are filtered one by one.
"""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.core.types import TopicPartition


class IntegerInterval(NamedTuple):
    """Integers from `least` to `most`, both included; empty if `most` is less than `least`."""

    least: int = INT64_MIN
    most: int = INT64_MAX

    def intersect(self, other: "IntegerInterval") -> "IntegerInterval":
        """Return the integers in both intervals."""
        return IntegerInterval(max(self.least, other.least), min(self.most, other.most))

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.least <= number <= self.most


ANY_INTEGER: Final = IntegerInterval()


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedFilters:
    """The conjunction of pushed filters; None means no filter. Times are milliseconds."""

    topics: frozenset[str] | None = None
    partition_numbers: frozenset[int] | None = None
    partitions: IntegerInterval = ANY_INTEGER
    offsets: IntegerInterval = ANY_INTEGER
    times: IntegerInterval = ANY_INTEGER

    def may_match(self, partition: TopicPartition) -> bool:
        """Return whether rows of a partition may match."""
        topic, number = partition
        return (
            (self.topics is None or topic in self.topics)
            and (self.partition_numbers is None or number in self.partition_numbers)
            and number in self.partitions
        )

    def with_topics(self, topics: frozenset[str]) -> "PushedFilters":
        """Return the filters with a condition on topics added."""
        return replace(self, topics=topics if self.topics is None else topics & self.topics)

    def with_partition_numbers(self, numbers: frozenset[int]) -> "PushedFilters":
        """Return the filters with a condition on partition numbers added."""
        known = self.partition_numbers
        return replace(self, partition_numbers=numbers if known is None else numbers & known)

    def with_interval(self, column: str, interval: IntegerInterval) -> "PushedFilters":
        """Return the filters with a condition on a numeric column added."""
        match column:
            case "partition":
                return replace(self, partitions=interval.intersect(self.partitions))
            case "offset":
                return replace(self, offsets=interval.intersect(self.offsets))
            case _:
                return replace(self, times=interval.intersect(self.times))


NO_FILTERS: Final = PushedFilters()
