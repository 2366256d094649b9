"""Coverage of an offset range by sources: the planned reads, and the gaps.

    wanted         ├───────────────────────────────────┤
    a directory       ├──────────┤   ├────┤               history, from segments
    the brokers                          ├─────────────┤  newer records
    reads             ├─ segments ┤   ├────┤├─ brokers ─┤
    gaps           ├─┤            ├───┤

Each offset is read from the first source that has it, so no offset is read twice. An offset that
no source has is a gap. Gaps are never skipped silently: `offset_gaps` applies the option `gap`.
The offsets of a source end at the high watermark, or at the last stable offset: a directory that
a failover has left behind never supplies its other records.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

from cordwood.core.types import TopicPartition

#: Topic ids where no source reports any.
NO_IDS: Final[Mapping[str, str]] = MappingProxyType({})


class OffsetRange(NamedTuple):
    """Offsets of a partition, `end` excluded (spark-sql-kafka: `KafkaOffsetRange`)."""

    partition: TopicPartition
    start: int
    end: int

    def __str__(self) -> str:
        """Return the range as errors name it."""
        return f"offsets {self.start} to {self.end - 1} of {self.partition}"


@dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """The directory of one partition; its segments are read without a broker."""

    path: str


@dataclass(frozen=True, slots=True)
class BrokerSource:
    """The brokers of `kafka.bootstrap.servers`; records are fetched from the leader."""


#: Where a task reads a range. The value is pickled with the task.
RecordSource: TypeAlias = PartitionDirectory | BrokerSource


class AvailableRange(NamedTuple):
    """Consecutive offsets of a partition that one source has."""

    start: int
    end: int
    source: RecordSource


class PlannedRead(NamedTuple):
    """A range of offsets and the source that it is read from."""

    range: OffsetRange
    source: RecordSource


class TopicIdentity(NamedTuple):
    """The topic id of a partition, and the source that reports it."""

    topic_id: str
    reported_by: str


class KnownEnd(NamedTuple):
    """The end of the offsets that a table or a stream has read, and their latest leader epoch."""

    end: int
    leader_epoch: int | None = None


class OffsetReader(Protocol):
    """A source of logs, as the driver sees it (spark-sql-kafka: `KafkaOffsetReader`)."""

    def topics(self) -> Collection[str]:
        """Return the names of all topics of this source, selected or not."""

    def partitions(self) -> Collection[TopicPartition]:
        """Return the partitions of this source that the options select."""

    def available(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[AvailableRange]]:
        """Return the current ranges of each wanted partition of this source, in order.

        Ensures: an empty partition has one empty range, at its log start.
        """

    def log_ends(self) -> Mapping[TopicPartition, int]:
        """Return the log ends that `available` has found, where this source knows them.

        A log end is at or after the end of the available ranges, which a failover cannot truncate.
        """

    def leader_epochs(self, wanted: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the latest leader epoch of each wanted partition of this source that has one.

        Requires: a call of `available` before. So no record of an available range has a later one.
        """

    def truncated_ends(
        self, known: Mapping[TopicPartition, KnownEnd]
    ) -> Mapping[TopicPartition, int]:
        """Return where records of a later leader epoch begin below a known end.

        Such records replaced others, which were truncated (Kafka: OffsetForLeaderEpoch).
        """

    def topic_ids(self) -> Mapping[TopicPartition, TopicIdentity]:
        """Return the topic id of each partition of this source that has one."""

    def offsets_for_times(
        self, wanted: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """Return the first offset at or after a time, for each partition of this source.

        Ensures: None for a partition without such a record.
        """


def cover(
    wanted: OffsetRange, available: Iterable[AvailableRange]
) -> tuple[list[PlannedRead], list[OffsetRange]]:
    """Return the reads that cover a range, and the gaps in it, both in order.

    A range that starts after its end is one gap: all sources end before its start.
    """
    if wanted.start > wanted.end:
        return [], [wanted._replace(start=wanted.end, end=wanted.start)]
    gaps, reads = [wanted], []
    for each in available:
        still_missing: list[OffsetRange] = []
        for gap in gaps:
            start, end = max(gap.start, each.start), min(gap.end, each.end)
            if start < end:
                reads.append(PlannedRead(gap._replace(start=start, end=end), each.source))
                rest = gap._replace(end=start), gap._replace(start=end)
                still_missing += [part for part in rest if part.start < part.end]
            else:
                still_missing.append(gap)
        gaps = still_missing
    reads.sort(key=lambda read: read.range)
    return reads, [gap for gap in gaps if gap.start < gap.end]
