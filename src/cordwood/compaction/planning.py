"""From what is known of a log to the plan of a pass over it.

A plan goes from the log's first segment up to where an assessment ends it, or before that, if
somebody wants it to end earlier: whole segments either way. That nothing is dirty does not keep it
from being made, for tombstones and markers go when their time has come, and erased keys at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cordwood.compaction.choosing import Assessment
from cordwood.compaction.grouping import group_segments
from cordwood.compaction.plan import CleaningPlan, LastBatch, SourceSegment
from cordwood.core.types import NO_OFFSET
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producer_state import ProducerState


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What somebody who asks for a pass wants of it.

    `until`: nothing at or above this offset is touched. `erased_keys` go, the last record included.
    """

    until: int | None = None
    erased_keys: frozenset[bytes] = field(default_factory=frozenset)


NO_WISHES: Final = Wishes()


def make_plan(
    assessment: Assessment,
    sources: Sequence[SourceSegment],
    *,
    last_batches: Mapping[int, LastBatch],
    now_ms: int,
    wishes: Wishes = NO_WISHES,
) -> CleaningPlan | None:
    """Return the plan over the segments below the assessment's end, None where there are none.

    `sources` are all of those. What was clean beyond the plan's end stays so: its first dirty
    offset is never above its end, and is not to be taken for where the log was clean up to.
    """
    facts = assessment.facts
    limit = assessment.end if wishes.until is None else min(wishes.until, assessment.end)
    chosen = [each for each in sources if each.end_offset <= limit]
    if not chosen:
        return None
    end = chosen[-1].end_offset
    first_dirty = min(assessment.first_dirty.offset, end)
    return CleaningPlan(
        partition=facts.partition,
        groups=group_segments(chosen, facts.config),
        first_dirty=first_dirty,
        end=end,
        now_ms=now_ms,
        legacy_horizon_ms=legacy_horizon_ms(chosen, first_dirty, config=facts.config),
        config=facts.config,
        last_batches=dict(last_batches),
        erased_keys=wishes.erased_keys,
    )


def legacy_horizon_ms(
    sources: Sequence[SourceSegment], first_dirty: int, *, config: LogConfig
) -> int:
    """Return up to when a segment of an old format was last changed whose tombstones may go.

    The last segment that is clean, or partly so, tells when the log was cleaned; 0 without one.
    """
    clean = [each.modified_ms for each in sources if each.base_offset < first_dirty]
    return clean[-1] - config.delete_retention_ms if clean else 0


def last_batches_of(states: Iterable[ProducerState]) -> dict[int, LastBatch]:
    """Return by producer id what its last batch is known by."""
    return {
        state.producer_id: LastBatch(
            state.producer_epoch, None if state.last_offset == NO_OFFSET else state.last_offset
        )
        for state in states
    }
