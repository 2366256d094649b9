"""Admission of records to a batch (spark-sql-kafka: `KafkaMicroBatchStream.latestOffset`).

    backlog of each partition ──► held back? ──► by offsets ──► by bytes ──► end of each partition
    [next offset, end)            min, delay     max, shared    max, shared

A maximum is shared in proportion to the backlogs, and each partition with records gets at least
one. Offsets count, as in Kafka: compaction and transactions leave offsets without records, so a
batch can have fewer records than `maxOffsetsPerTrigger`. `maxBytesPerTrigger` limits what is read.

The shares are computed in double precision and rounded down, or up below one, because
spark-sql-kafka does the same: both give the same batches.
"""

import math
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import OffsetRange

#: Default of `maxTriggerDelay`: 15 minutes.
MAX_DELAY_MS: Final = 15 * 60 * 1000


class AdmissionLimits(NamedTuple):
    """The limits of one batch; None stands for unlimited."""

    max_offsets: int | None = None
    max_bytes: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = MAX_DELAY_MS


#: Trigger.Once: everything at once.
NO_LIMITS: Final = AdmissionLimits()


class Backlog(NamedTuple):
    """The unread offsets of a partition, `end` excluded."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of offsets."""
        return max(0, self.end - self.start)


Backlogs = Mapping[TopicPartition, Backlog]


class ByteSizes(Protocol):
    """Sizes of offset ranges on disk or on brokers."""

    def size_of(self, wanted: OffsetRange) -> int:
        """Return the bytes of a range, exact in segments and estimated on brokers."""

    def end_within(self, wanted: OffsetRange, size: int) -> int:
        """Return the end of the part of a range that has about `size` bytes.

        Requires: a range with offsets.
        Ensures: after the start of the range, so that every batch makes progress, and not after
            its end.
        """


def is_held_back(
    backlogs: Backlogs, limits: AdmissionLimits, *, now_ms: float, last_batch_ms: float | None
) -> bool:
    """Return whether a batch waits for more records; the first batch does not wait."""
    if limits.min_offsets is None or last_batch_ms is None:
        return False
    if now_ms - last_batch_ms >= limits.max_delay_ms:
        return False
    return sum(each.size for each in backlogs.values()) < limits.min_offsets


def admit(
    backlogs: Backlogs, limits: AdmissionLimits, *, sizes: ByteSizes
) -> dict[TopicPartition, int]:
    """Return the end of each partition in the next batch."""
    if limits.max_offsets is not None:
        backlogs = _limit_offsets(backlogs, limits.max_offsets)
    if limits.max_bytes is not None:
        backlogs = _limit_bytes(backlogs, limits.max_bytes, sizes)
    return {partition: each.start + each.size for partition, each in backlogs.items()}


def _limit_offsets(backlogs: Backlogs, most: int) -> dict[TopicPartition, Backlog]:
    total = sum(each.size for each in backlogs.values())
    return {
        partition: each._replace(end=min(each.end, each.start + _share(most, each.size, total)))
        if each.size
        else each
        for partition, each in backlogs.items()
    }


def _limit_bytes(backlogs: Backlogs, most: int, sizes: ByteSizes) -> dict[TopicPartition, Backlog]:
    ranges = {
        partition: OffsetRange(partition, each.start, each.end)
        for partition, each in backlogs.items()
        if each.size
    }
    found = {partition: sizes.size_of(each) for partition, each in ranges.items()}
    total = sum(found.values())
    if total <= most:
        return dict(backlogs)
    ends = {
        partition: sizes.end_within(ranges[partition], _share(most, size, total))
        for partition, size in found.items()
    }
    return {
        partition: each._replace(end=ends.get(partition, each.end))
        for partition, each in backlogs.items()
    }


def _share(most: int, part: int, total: int) -> int:
    """Return the share of a part, at least one."""
    share = most * (part / total)
    return math.ceil(share) if share < 1 else math.floor(share)
