"""The facts of an open log that cleaning decides by, read on the thread of the log's owner.

The cleaner reads them of thousands of logs again and again. So timestamps are read only if a
setting needs them, and segments cache what they have read. The plan of the one log that is cleaned
needs facts of every file: a `PlanningJob` reads them on a worker, 0.1 s for 5,000 segments.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

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
from cordwood.core.ports import Files
from cordwood.core.types import NO_TIMESTAMP
from cordwood.storage.files.file_names import INDEX, LOG, TIME_INDEX
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import NEVER, LogConfig
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE
from cordwood.storage.segment.segment_files import SegmentPath
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


class _ClosedSegment(NamedTuple):
    """A segment before the active one, whose files do not change any more."""

    path: SegmentPath
    end_offset: int
    size: int

    def source(self, files: Files) -> SourceSegment:
        """Return its facts, with those of its files."""
        return SourceSegment(
            self.path.base_offset,
            self.end_offset,
            self.size,
            _index_size(files, self.path.of(INDEX), OFFSET_ENTRY_SIZE),
            _index_size(files, self.path.of(TIME_INDEX), TIME_ENTRY_SIZE),
            files.stat(self.path.of(LOG)).modified_ms,
        )


class PlanningJob(NamedTuple):
    """The planning of a pass, for any thread; the log's lease keeps the segments meanwhile."""

    files: Files
    segments: Sequence[_ClosedSegment]
    producers: Sequence[ProducerStateEntry]
    candidate: LogToClean
    now_ms: int

    @classmethod
    def of(cls, log: Log, candidate: LogToClean, *, now_ms: int) -> Self:
        """Return the job, on the thread of the log's owner."""
        return cls(
            log.files,
            closed_segments(log, candidate.end),
            tuple(log.producers.producers.values()),
            candidate,
            now_ms,
        )

    def run(self, options: PassOptions = DEFAULT_PASS_OPTIONS) -> CleaningPlan | None:
        """Return the plan; None if no segment may be cleaned."""
        return build_plan(
            self.candidate,
            [each.source(self.files) for each in self.segments],
            last_records=last_records_of(self.producers),
            now_ms=self.now_ms,
            options=options,
        )


def closed_segments(log: Log, end: int) -> list[_ClosedSegment]:
    """Return the segments below `end`, the base offset of a segment that is not cleaned."""
    return [
        _ClosedSegment(segment.files.path, following.base_offset, segment.size)
        for segment, following in pairwise(log.segments)
        if following.base_offset <= end
    ]


def source_segments(log: Log, end: int) -> list[SourceSegment]:
    """Return the segments below `end` with the facts of their files; blocks."""
    return [each.source(log.files) for each in closed_segments(log, end)]


def _index_size(files: Files, path: str, entry_size: int) -> int:
    """Return the bytes of the whole entries of an index file, 0 without one."""
    try:
        size = files.stat(path).size
    except FileNotFoundError:
        return 0
    return size - size % entry_size


def _timed(segment: LogSegment, config: LogConfig) -> CandidateSegment:
    needs_first = config.max_compaction_lag_ms != NEVER
    needs_largest = config.min_compaction_lag_ms > 0
    return CandidateSegment(
        segment.base_offset,
        segment.size,
        segment.first_timestamp if needs_first else NO_TIMESTAMP,
        segment.largest_timestamp() if needs_largest else NO_TIMESTAMP,
    )
