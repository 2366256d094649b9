"""Which segments become one: neighbours, from the oldest on, as long as they fit together.

A group grows while its log files together are not larger than `segment.bytes`, its offset indexes
and its time indexes each not larger than `segment.index.bytes`, and the last offset not more than
31 bits above the group's base. An empty segment has no last offset, so it joins whatever is before
it. What fits as it was fits as it will be: cleaning takes away.

These are Kafka's groups: what one of us has cleaned the other groups alike in its next pass.
"""

from collections.abc import Iterable
from operator import add, le

from cordwood.compaction.plan import SourceSegment
from cordwood.storage.index import is_within_reach
from cordwood.storage.log_config import LogConfig


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
    return not segment.size or is_within_reach(segment.end_offset - 1, first.base_offset)
