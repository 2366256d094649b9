"""Groups of adjacent segments that become one segment (Kafka: `Cleaner.groupSegmentsBySize`).

A group grows from its oldest segment on, within three limits. The log files together are at most
`segment.bytes`. The offset indexes and the time indexes are each at most `segment.index.bytes`. The
last offset is at most 31 bits above the group's base offset. An empty segment has no last offset,
so it joins the group before it. The rewritten group is within the limits as well, because cleaning
only removes.

The groups are the same as Kafka's. So a log that was cleaned by one of the two is grouped alike in
the next pass of the other.
"""

from collections.abc import Iterable
from operator import add, le

from cordwood.compaction.plan.cleaning_plan import SourceSegment
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import is_in_offset_range


def group_segments(
    segments: Iterable[SourceSegment], config: LogConfig
) -> tuple[tuple[SourceSegment, ...], ...]:
    """Return the segments, which come in order, in groups of at least one."""
    limits = (config.segment_bytes, config.segment_index_bytes, config.segment_index_bytes)
    groups: list[list[SourceSegment]] = []
    totals: tuple[int, ...] = ()
    for segment in segments:
        sizes = (segment.size, segment.index_size, segment.time_index_size)
        grown = tuple(map(add, totals, sizes))
        if groups and all(map(le, grown, limits)) and _is_near(segment, groups[-1][0]):
            groups[-1].append(segment)
            totals = grown
        else:
            groups.append([segment])
            totals = sizes
    return tuple(map(tuple, groups))


def _is_near(segment: SourceSegment, first: SourceSegment) -> bool:
    return not segment.size or is_in_offset_range(segment.end_offset - 1, first.base_offset)
