"""What a log knows of itself that cleaning decides by: asked on the thread of the log's owner.

Of thousands of logs this is asked again and again, so what is no setting's concern is not looked
at; what a segment has read of its files once it remembers. `sources_of` asks the file system, for
one log that is to be cleaned.
"""

from dataclasses import replace
from itertools import pairwise

from cordwood.compaction.choosing import (
    Assessment,
    LogFacts,
    SegmentSeen,
    asks_for_times,
    count_clean,
)
from cordwood.compaction.plan import CleaningPlan, SourceSegment
from cordwood.compaction.planning import NO_WISHES, Wishes, last_batches_of, make_plan
from cordwood.core.types import NO_TIMESTAMP
from cordwood.storage.index import OFFSET_ENTRY_SIZE, TIME_ENTRY_SIZE
from cordwood.storage.log import Log
from cordwood.storage.log_config import NEVER, LogConfig
from cordwood.storage.segment import Segment


def facts_of(log: Log, *, checkpoint: int | None) -> LogFacts:
    """Return what the choice looks at; `checkpoint` is the cleaner's, of this log."""
    bounds, segments = log.bounds, log.each_segment
    facts = LogFacts(
        partition=log.partition,
        config=log.config,
        segments=tuple(SegmentSeen(each.base_offset, each.size) for each in segments),
        log_start=bounds.log_start,
        log_end=bounds.log_end,
        high_watermark=bounds.high_watermark,
        last_stable=bounds.last_stable,
        checkpoint=checkpoint,
        active_since_ms=segments[-1].created_ms,
    )
    if not asks_for_times(log.config):
        return facts
    clean = count_clean(facts)
    timed = (_timed(each, log.config) for each in segments[clean:])
    return replace(facts, segments=(*facts.segments[:clean], *timed))


def plan_of(
    log: Log,
    assessment: Assessment,
    *,
    now_ms: int,
    wishes: Wishes = NO_WISHES,
) -> CleaningPlan | None:
    """Return the plan of a pass over the log as it is, None where no segment may be cleaned."""
    return make_plan(
        assessment,
        sources_of(log, assessment.end),
        last_batches=last_batches_of(log.producers.producers.values()),
        now_ms=now_ms,
        wishes=wishes,
    )


def sources_of(log: Log, end: int) -> list[SourceSegment]:
    """Return the segments below `end`, which is the base of one that is not cleaned."""
    return [
        _source(segment, following.base_offset)
        for segment, following in pairwise(log.each_segment)
        if following.base_offset <= end
    ]


def _timed(segment: Segment, config: LogConfig) -> SegmentSeen:
    is_first_asked = config.max_compaction_lag_ms != NEVER
    is_largest_asked = config.min_compaction_lag_ms > 0
    return SegmentSeen(
        segment.base_offset,
        segment.size,
        segment.first_timestamp if is_first_asked else NO_TIMESTAMP,
        segment.largest_timestamp() if is_largest_asked else NO_TIMESTAMP,
    )


def _source(segment: Segment, end_offset: int) -> SourceSegment:
    files = segment.files
    return SourceSegment(
        segment.base_offset,
        end_offset,
        segment.size,
        files.offset_entries.count * OFFSET_ENTRY_SIZE,
        files.time_entries.count * TIME_ENTRY_SIZE,
        files.table.files.stat(files.log_path).modified_ms,
    )
