"""Which rows of a reading are wanted, as far as the source itself can keep to it.

What lies outside is not read if the place can be told beforehand: partitions are left out, offsets
are cut off at both ends, and so is all before the first record that is not too old. Times need not
rise with offsets, so records that are too young can lie anywhere: they are left out one by one.
"""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.core.types import TopicPartition


class Interval(NamedTuple):
    """Whole numbers from the least to the most, both included; none where the most is less."""

    least: int = INT64_MIN
    most: int = INT64_MAX

    def within(self, other: "Interval") -> "Interval":
        """Return what both have."""
        return Interval(max(self.least, other.least), min(self.most, other.most))

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.least <= number <= self.most


EVERY: Final = Interval()


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """Conditions that all hold; None is no condition. Times are milliseconds."""

    topics: frozenset[str] | None = None
    among: frozenset[int] | None = None
    partitions: Interval = EVERY
    offsets: Interval = EVERY
    times: Interval = EVERY

    def has(self, partition: TopicPartition) -> bool:
        """Whether rows of a partition may be wanted."""
        topic, number = partition
        return (
            (self.topics is None or topic in self.topics)
            and (self.among is None or number in self.among)
            and number in self.partitions
        )

    def with_topics(self, topics: frozenset[str]) -> "Narrowing":
        """Return the rows that are of these topics too."""
        return replace(self, topics=topics if self.topics is None else topics & self.topics)

    def with_partitions_among(self, numbers: frozenset[int]) -> "Narrowing":
        """Return the rows that are of these partitions too."""
        return replace(self, among=numbers if self.among is None else numbers & self.among)

    def with_interval(self, column: str, interval: Interval) -> "Narrowing":
        """Return the rows whose column of numbers lies in an interval too."""
        match column:
            case "partition":
                return replace(self, partitions=interval.within(self.partitions))
            case "offset":
                return replace(self, offsets=interval.within(self.offsets))
            case _:
                return replace(self, times=interval.within(self.times))


EVERYTHING: Final = Narrowing()
