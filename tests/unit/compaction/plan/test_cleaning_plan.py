"""The segments of a plan."""

from cordwood.compaction.plan.cleaning_plan import CleaningPlan, SourceSegment
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.storage.log_config import LogConfig


def _segment(base_offset: int, end_offset: int) -> SourceSegment:
    return SourceSegment(base_offset, end_offset, 100, 0, 0, 0)


def _plan(*groups: tuple[SourceSegment, ...]) -> CleaningPlan:
    return CleaningPlan(
        partition=TopicPartition(TopicName("orders"), PartitionId(0)),
        groups=groups,
        first_dirty=0,
        end=30,
        now_ms=1_000,
        legacy_horizon_ms=0,
        config=LogConfig(delete_retention_ms=500),
    )


def test_plan_names_segments_of_all_groups_in_order() -> None:
    first, second, third = _segment(0, 10), _segment(10, 20), _segment(20, 30)

    plan = _plan((first, second), (third,))

    assert plan.segments == (first, second, third)
