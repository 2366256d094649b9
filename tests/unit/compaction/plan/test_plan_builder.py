"""The construction of a plan."""

import pytest

from cordwood.compaction.plan.candidates import CandidateSegment, LogFacts, assess
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, LastRecord, SourceSegment
from cordwood.compaction.plan.delete_horizon import new_delete_horizon_ms
from cordwood.compaction.plan.plan_builder import (
    DEFAULT_PASS_OPTIONS,
    PassOptions,
    build_plan,
    last_records_of,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry

NOW = 1_000_000
CONFIG = LogConfig(cleanup_policy=frozenset({COMPACT}), delete_retention_ms=100)
SOURCES = [SourceSegment(base, base + 10, 100, 8, 12, NOW + base) for base in (0, 10, 20)]


def planned(
    checkpoint: int = 0, options: PassOptions = DEFAULT_PASS_OPTIONS
) -> CleaningPlan | None:
    """Plan a pass over a log of three closed segments, up to 30."""
    facts = LogFacts(
        partition=TopicPartition(TopicName("orders"), PartitionId(0)),
        config=CONFIG,
        segments=tuple(CandidateSegment(base, 100) for base in (0, 10, 20, 30)),
        log_start=0,
        log_end=40,
        high_watermark=40,
        last_stable=40,
        checkpoint=checkpoint,
    )
    return build_plan(
        assess(facts, NOW), SOURCES, last_records={7: LastRecord(0, 5)}, now_ms=NOW, options=options
    )


def test_plan_has_the_whole_log_up_to_where_it_may_be_cleaned() -> None:
    plan = planned(checkpoint=15)

    assert plan is not None
    assert plan.segments == tuple(SOURCES)
    assert (plan.first_dirty, plan.end, new_delete_horizon_ms(plan)) == (15, 30, NOW + 100)
    assert plan.last_records == {7: LastRecord(0, 5)}


@pytest.mark.parametrize(("until", "end"), ((10, 10), (19, 10), (20, 20), (30, 30), (99, 30)))
def test_plan_ends_with_the_last_whole_segment_below_the_requested_offset(
    until: int, end: int
) -> None:
    plan = planned(options=PassOptions(until=until))

    assert plan is not None
    assert (plan.end, plan.segments[-1].end_offset) == (end, end)


def test_plan_is_none_without_a_whole_segment() -> None:
    assert planned(options=PassOptions(until=9)) is None


def test_clean_log_has_a_plan_when_keys_are_erased() -> None:
    plan = planned(checkpoint=30, options=PassOptions(until=20, erased_keys=frozenset({b"key"})))

    assert plan is not None
    assert (plan.first_dirty, plan.end) == (20, 20)
    assert plan.erased_keys == {b"key"}


def test_last_record_of_a_producer_without_batches_has_only_its_epoch() -> None:
    states = (
        ProducerStateEntry(1, 3, (BatchMetadata(9, 50, 1, NOW), BatchMetadata(11, 55, 1, NOW))),
        ProducerStateEntry(2, 4),
        ProducerStateEntry(3, 5, (BatchMetadata(-1, -1, 0, NOW),)),
    )

    assert last_records_of(states) == {
        1: LastRecord(3, 55),
        2: LastRecord(4, None),
        3: LastRecord(5, None),
    }
