"""The construction of a plan from a log's facts.

A plan covers whole segments, from the log's first one up to the end that `candidates` found, or to
an earlier one if the caller limits it. A log without dirty records can be planned as well, because
tombstones and markers go when their delete horizon is reached, and erased keys go at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cordwood.compaction.plan.candidates import LogToClean
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, LastRecord, SourceSegment
from cordwood.compaction.plan.delete_horizon import legacy_horizon_ms
from cordwood.compaction.plan.segment_groups import group_segments
from cordwood.core.types import NO_OFFSET
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOptions:
    """The caller's options for one pass.

    Segments that reach above `until` are left out. All records of `erased_keys` go, the last one
    included. With `is_from_start` the cleaner's checkpoint is ignored: all records count as dirty.
    """

    until: int | None = None
    erased_keys: frozenset[bytes] = field(default_factory=frozenset)
    is_from_start: bool = False


DEFAULT_PASS_OPTIONS: Final = PassOptions()


def build_plan(
    candidate: LogToClean,
    sources: Sequence[SourceSegment],
    *,
    last_records: Mapping[int, LastRecord],
    now_ms: int,
    options: PassOptions = DEFAULT_PASS_OPTIONS,
) -> CleaningPlan | None:
    """Return the plan over the segments below the candidate's end; None if there are none.

    `sources` are all of those segments. The plan's first dirty offset is at most its end, even if
    the log is clean beyond it; so it must not replace the checkpoint.
    """
    facts = candidate.facts
    limit = candidate.end if options.until is None else min(options.until, candidate.end)
    chosen = [each for each in sources if each.end_offset <= limit]
    if not chosen:
        return None
    end = chosen[-1].end_offset
    first_dirty = min(candidate.first_dirty.offset, end)
    return CleaningPlan(
        partition=facts.partition,
        groups=group_segments(chosen, facts.config),
        first_dirty=first_dirty,
        end=end,
        now_ms=now_ms,
        legacy_horizon_ms=legacy_horizon_ms(chosen, first_dirty, config=facts.config),
        config=facts.config,
        last_records=dict(last_records),
        erased_keys=options.erased_keys,
        log_start=facts.log_start,
    )


def last_records_of(states: Iterable[ProducerStateEntry]) -> dict[int, LastRecord]:
    """Return the last record of each producer, by producer id.

    Kafka: `LogCleaner.lastRecordsOfActiveProducers`.
    """
    return {
        state.producer_id: LastRecord(
            state.producer_epoch, None if state.last_offset == NO_OFFSET else state.last_offset
        )
        for state in states
    }
