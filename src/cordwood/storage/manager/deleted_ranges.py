"""Reports of deleted segments, one for each log, round and reason (Kafka: `SegmentDeletionReason`).

Kafka writes a line for each deleted segment; a round may delete thousands.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from cordwood.core.types import TopicPartition
from cordwood.storage.log.log import Log
from cordwood.storage.log.retention import SegmentDeletion

TOPIC_DELETED: Final = "topic deleted"


class DeletedRange(NamedTuple):
    """Adjacent segments of a log; `end_offset` is the first offset after them."""

    partition: TopicPartition
    reason: str
    first_offset: int
    end_offset: int
    segments: int
    bytes: int


def deleted_ranges(
    partition: TopicPartition, deletions: Sequence[SegmentDeletion]
) -> Iterator[DeletedRange]:
    """Yield a report for each reason; the segments are in the order of their offsets."""
    for label, found in groupby(deletions, lambda each: each.reason.label):
        segments = [each.segment for each in found]
        yield DeletedRange(
            partition,
            label,
            segments[0].base_offset,
            segments[-1].next_base,
            len(segments),
            sum(each.size for each in segments),
        )


def whole_log(log: Log) -> DeletedRange:
    """Return the report of a log whose topic is deleted."""
    bases = log.base_offsets
    return DeletedRange(
        log.partition, TOPIC_DELETED, bases[0], log.bounds.log_end, len(bases), log.size
    )
