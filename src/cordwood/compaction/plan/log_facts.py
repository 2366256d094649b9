"""The facts of an open log that cleaning decides by, read on the thread of the log's owner.

The cleaner reads them of thousands of logs again and again. So timestamps are read only if a
setting needs them, and segments cache what they have read. `source_segments` calls the file system;
it is used for the one log that is cleaned.
"""

from dataclasses import replace
from itertools import pairwise

from cordwood.compaction.plan.candidates import (
    CandidateSegment,
    LogFacts,
    LogToClean,
    count_clean_segments,
    needs_timestamps,
)
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, SourceSegment
from cordwood.compaction.plan.plan_builder import (
    DEFAULT_PASS_OPTIONS,
    PassOptions,
    build_plan,
    last_records_of,
)
from cordwood.core.types import NO_TIMESTAMP
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import NEVER, LogConfig
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE


def read_log_facts(log: Log, *, checkpoint: int | None) -> LogFacts:
    """Return the facts; `checkpoint` is the cleaner's, of this log."""
    bounds, segments = log.bounds, log.segments
    facts = LogFacts(
        partition=log.partition,
        config=log.config,
        segments=tuple(CandidateSegment(each.base_offset, each.size) for each in segments),
        log_start=bounds.log_start,
        log_end=bounds.log_end,
        high_watermark=bounds.high_watermark,
        last_stable=bounds.last_stable,
        checkpoint=checkpoint,
        active_since_ms=segments[-1].created_ms,
    )
    if not needs_timestamps(log.config):
        return facts
    clean = count_clean_segments(facts)
    timed = (_timed(each, log.config) for each in segments[clean:])
    return replace(facts, segments=(*facts.segments[:clean], *timed))


def plan_log(
    log: Log,
    candidate: LogToClean,
    *,
    now_ms: int,
    options: PassOptions = DEFAULT_PASS_OPTIONS,
) -> CleaningPlan | None:
    """Return the plan of a pass over the log; None if no segment may be cleaned."""
    return build_plan(
        candidate,
        source_segments(log, candidate.end),
        last_records=last_records_of(log.producers.producers.values()),
        now_ms=now_ms,
        options=options,
    )


def source_segments(log: Log, end: int) -> list[SourceSegment]:
    """Return the segments below `end`, the base offset of a segment that is not cleaned."""
    return [
        _source(segment, following.base_offset)
        for segment, following in pairwise(log.segments)
        if following.base_offset <= end
    ]


def _timed(segment: LogSegment, config: LogConfig) -> CandidateSegment:
    needs_first = config.max_compaction_lag_ms != NEVER
    needs_largest = config.min_compaction_lag_ms > 0
    return CandidateSegment(
        segment.base_offset,
        segment.size,
        segment.first_timestamp if needs_first else NO_TIMESTAMP,
        segment.largest_timestamp() if needs_largest else NO_TIMESTAMP,
    )


def _source(segment: LogSegment, end_offset: int) -> SourceSegment:
    files = segment.files
    return SourceSegment(
        segment.base_offset,
        end_offset,
        segment.size,
        files.offset_entries.count * OFFSET_ENTRY_SIZE,
        files.time_entries.count * TIME_ENTRY_SIZE,
        files.open_files.files.stat(files.log_path).modified_ms,
    )
