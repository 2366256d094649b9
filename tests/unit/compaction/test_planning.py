"""What a pass is told to do."""

import pytest

from cordwood.compaction.choosing import LogFacts, SegmentSeen, assess
from cordwood.compaction.plan import CleaningPlan, LastBatch, SourceSegment
from cordwood.compaction.planning import (
    NO_WISHES,
    Wishes,
    last_batches_of,
    legacy_horizon_ms,
    make_plan,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.producer_state import ProducerState, WrittenBatch

NOW = 1_000_000
CONFIG = LogConfig(cleanup_policy=frozenset({COMPACT}), delete_retention_ms=100)
SOURCES = [SourceSegment(base, base + 10, 100, 8, 12, NOW + base) for base in (0, 10, 20)]


def planned(checkpoint: int = 0, wishes: Wishes = NO_WISHES) -> CleaningPlan | None:
    """Plan a pass over a log of three closed segments, up to 30."""
    facts = LogFacts(
        partition=TopicPartition(TopicName("orders"), PartitionId(0)),
        config=CONFIG,
        segments=tuple(SegmentSeen(base, 100) for base in (0, 10, 20, 30)),
        log_start=0,
        log_end=40,
        high_watermark=40,
        last_stable=40,
        checkpoint=checkpoint,
    )
    return make_plan(
        assess(facts, NOW), SOURCES, last_batches={7: LastBatch(0, 5)}, now_ms=NOW, wishes=wishes
    )


def test_plan_has_the_whole_log_up_to_where_it_may_be_cleaned() -> None:
    plan = planned(checkpoint=15)

    assert plan is not None
    assert plan.segments == tuple(SOURCES)
    assert (plan.first_dirty, plan.end, plan.delete_horizon_ms) == (15, 30, NOW + 100)
    assert plan.last_batches == {7: LastBatch(0, 5)}


@pytest.mark.parametrize(("until", "end"), ((10, 10), (19, 10), (20, 20), (30, 30), (99, 30)))
def test_plan_ends_with_the_last_whole_segment_below_what_is_asked_for(
    until: int, end: int
) -> None:
    plan = planned(wishes=Wishes(until=until))

    assert plan is not None
    assert (plan.end, plan.segments[-1].end_offset) == (end, end)


def test_there_is_no_plan_without_a_whole_segment() -> None:
    assert planned(wishes=Wishes(until=9)) is None


def test_log_that_is_clean_can_be_planned_for_what_is_to_go_from_it() -> None:
    plan = planned(checkpoint=30, wishes=Wishes(until=20, erased_keys=frozenset({b"key"})))

    assert plan is not None
    assert (plan.first_dirty, plan.end) == (20, 20)
    assert plan.erased_keys == {b"key"}


@pytest.mark.parametrize(
    ("first_dirty", "expected"), ((0, 0), (1, NOW - 100), (10, NOW - 100), (11, NOW + 10 - 100))
)
def test_old_tombstones_go_by_the_last_segment_that_was_clean(
    first_dirty: int, expected: int
) -> None:
    assert legacy_horizon_ms(SOURCES, first_dirty, config=CONFIG) == expected


def test_producer_without_batches_is_known_by_its_epoch() -> None:
    states = (
        ProducerState(1, 3, (WrittenBatch(9, 50, 1, NOW), WrittenBatch(11, 55, 1, NOW))),
        ProducerState(2, 4),
        ProducerState(3, 5, (WrittenBatch(-1, -1, 0, NOW),)),
    )

    assert last_batches_of(states) == {
        1: LastBatch(3, 55),
        2: LastBatch(4, None),
        3: LastBatch(5, None),
    }
