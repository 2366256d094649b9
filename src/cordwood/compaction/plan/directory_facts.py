"""The facts of a log that cleaning decides by, read from its directory; it may be in use.

Log start and cleaner checkpoint come from the checkpoint files of the log directory, and the high
watermark from the caller. Producer states are read from snapshots and from the end of the log. So a
call costs much more than `log_facts`, and returns the same for a log without writes.
"""

from itertools import pairwise
from typing import NamedTuple

from cordwood.compaction.plan.candidates import (
    CandidateSegment,
    LogFacts,
    LogToClean,
    needs_timestamps,
)
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, LastRecord, SourceSegment
from cordwood.compaction.plan.plan_builder import (
    DEFAULT_PASS_OPTIONS,
    PassOptions,
    build_plan,
    last_records_of,
)
from cordwood.core.types import NO_TIMESTAMP, TopicPartition
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.producer_states import load_producer_states
from cordwood.storage.reader.reader_segment import ReaderSegment
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE


class DirectoryFacts(NamedTuple):
    """The facts, and the inputs of a plan: all segments except the active one, and producers."""

    facts: LogFacts
    sources: tuple[SourceSegment, ...]
    last_records: dict[int, LastRecord]


def read_directory_facts(
    reader: PartitionReader,
    *,
    partition: TopicPartition,
    config: LogConfig,
    high_watermark: int | None = None,
) -> DirectoryFacts:
    """Return the facts; without a high watermark the whole log counts as replicated.

    A directory without segments is an empty log.
    """

    def read() -> DirectoryFacts:
        bounds, checkpoints = reader.offsets(), reader.checkpoints()
        replicated = bounds.log_end if high_watermark is None else high_watermark
        replicated = min(max(replicated, bounds.log_start), bounds.log_end)
        producers = load_producer_states(reader, high_watermark=replicated, log_end=bounds.log_end)
        unstable = producers.first_unstable_offset
        stable = replicated if unstable is None else max(unstable, bounds.log_start)
        opened = reader.open_segments()
        facts = LogFacts(
            partition=partition,
            config=config,
            segments=_candidate_segments(opened, config) or (CandidateSegment(bounds.log_end, 0),),
            log_start=bounds.log_start,
            log_end=bounds.log_end,
            high_watermark=replicated,
            last_stable=min(stable, replicated),
            checkpoint=checkpoints.cleaned_to or None,
        )
        last_records = last_records_of(producers.producers.values())
        return DirectoryFacts(facts, _sources(opened), last_records)

    return reader.retry_on_change(read)


def plan_directory(
    directory: DirectoryFacts,
    candidate: LogToClean,
    *,
    now_ms: int,
    options: PassOptions = DEFAULT_PASS_OPTIONS,
) -> CleaningPlan | None:
    """Return the plan of a pass over the log; None if no segment may be cleaned."""
    return build_plan(
        candidate,
        directory.sources,
        last_records=directory.last_records,
        now_ms=now_ms,
        options=options,
    )


def _candidate_segments(
    opened: list[ReaderSegment], config: LogConfig
) -> tuple[CandidateSegment, ...]:
    if not needs_timestamps(config):
        return tuple(CandidateSegment(each.base_offset, each.view.size) for each in opened)
    return tuple(map(_timed, opened))


def _timed(segment: ReaderSegment) -> CandidateSegment:
    first = segment.view.first_batch()
    return CandidateSegment(
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
