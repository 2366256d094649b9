"""What can be seen of a log from outside that cleaning decides by; the owner may be at work.

The start and the cleaner's checkpoint are those that lie beside the directory, the high watermark
is the caller's, and what producers did is read from snapshots and from the end of the log. So one
call here costs much more than asking the owner, and says the same of a log that nobody writes to.
"""

from itertools import pairwise
from typing import NamedTuple

from cordwood.compaction.choosing import Assessment, LogFacts, SegmentSeen, asks_for_times
from cordwood.compaction.plan import CleaningPlan, LastBatch, SourceSegment
from cordwood.compaction.planning import NO_WISHES, Wishes, last_batches_of, make_plan
from cordwood.core.types import NO_TIMESTAMP, TopicPartition
from cordwood.storage.index import OFFSET_ENTRY_SIZE, TIME_ENTRY_SIZE
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_producers import producers_of
from cordwood.storage.reader_segments import ReaderSegment


class LogFound(NamedTuple):
    """The facts, and what else a plan is made of: the segments but for the active one."""

    facts: LogFacts
    sources: tuple[SourceSegment, ...]
    last_batches: dict[int, LastBatch]


def look(
    reader: PartitionReader,
    *,
    partition: TopicPartition,
    config: LogConfig,
    high_watermark: int | None = None,
) -> LogFound:
    """Return what there is; without a high watermark everything counts as replicated.

    A directory without segments is an empty log.
    """

    def looked_at() -> LogFound:
        bounds, beside = reader.offsets(), reader.beside()
        replicated = bounds.log_end if high_watermark is None else high_watermark
        replicated = min(max(replicated, bounds.log_start), bounds.log_end)
        producers = producers_of(reader, high_watermark=replicated, log_end=bounds.log_end)
        unstable = producers.first_unstable_offset
        stable = replicated if unstable is None else max(unstable, bounds.log_start)
        opened = reader.opened()
        facts = LogFacts(
            partition=partition,
            config=config,
            segments=_seen(opened, config) or (SegmentSeen(bounds.log_end, 0),),
            log_start=bounds.log_start,
            log_end=bounds.log_end,
            high_watermark=replicated,
            last_stable=min(stable, replicated),
            checkpoint=beside.cleaned_to or None,
        )
        last_batches = last_batches_of(producers.producers.values())
        return LogFound(facts, _sources(opened), last_batches)

    return reader.patiently(looked_at)


def plan_of(
    found: LogFound, assessment: Assessment, *, now_ms: int, wishes: Wishes = NO_WISHES
) -> CleaningPlan | None:
    """Return the plan of a pass over the log as it was seen, None if no segment may be cleaned."""
    return make_plan(
        assessment,
        found.sources,
        last_batches=found.last_batches,
        now_ms=now_ms,
        wishes=wishes,
    )


def _seen(opened: list[ReaderSegment], config: LogConfig) -> tuple[SegmentSeen, ...]:
    if not asks_for_times(config):
        return tuple(SegmentSeen(each.base_offset, each.view.size) for each in opened)
    return tuple(map(_timed, opened))


def _timed(segment: ReaderSegment) -> SegmentSeen:
    first = segment.view.first_batch()
    return SegmentSeen(
        segment.base_offset,
        segment.view.size,
        NO_TIMESTAMP if first is None else first.max_timestamp,
        segment.largest_timestamp(),
    )


def _sources(opened: list[ReaderSegment]) -> tuple[SourceSegment, ...]:
    return tuple(_source(segment, following.base_offset) for segment, following in pairwise(opened))


def _source(segment: ReaderSegment, end_offset: int) -> SourceSegment:
    view = segment.view
    return SourceSegment(
        segment.base_offset,
        end_offset,
        view.size,
        view.offset_index.entries.count * OFFSET_ENTRY_SIZE,
        view.time_index.entries.count * TIME_ENTRY_SIZE,
        segment.source.stat(segment.log_name).modified_ms,
    )
