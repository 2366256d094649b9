"""The delete horizon: when tombstones and discardable markers go."""

from dataclasses import replace

import pytest

from cordwood.compaction.plan.cleaning_plan import SourceSegment
from cordwood.compaction.plan.delete_horizon import (
    HorizonState,
    horizon_state,
    is_legacy_horizon_reached,
    legacy_horizon_ms,
    new_delete_horizon_ms,
)
from cordwood.core.binary import INT64_MAX
from cordwood.storage.log_config import LogConfig
from tests.unit.compaction.compaction_samples import HORIZON, NOW, plan

CONFIG = LogConfig(delete_retention_ms=100)
SOURCES = [SourceSegment(base, base + 10, 100, 8, 12, NOW + base) for base in (0, 10, 20)]


def test_new_horizon_is_a_retention_after_the_pass() -> None:
    assert new_delete_horizon_ms(plan()) == HORIZON


def test_new_horizon_is_at_most_the_latest_time() -> None:
    for_ever = replace(plan(), config=LogConfig(delete_retention_ms=INT64_MAX))

    assert new_delete_horizon_ms(for_ever) == INT64_MAX


@pytest.mark.parametrize(
    ("horizon_ms", "expected"),
    (
        (None, HorizonState.UNSET),
        (NOW - 1, HorizonState.REACHED),
        (NOW, HorizonState.REACHED),
        (NOW + 1, HorizonState.PENDING),
    ),
)
def test_horizon_is_reached_at_its_own_time(horizon_ms: int | None, expected: HorizonState) -> None:
    assert horizon_state(horizon_ms, NOW) is expected


@pytest.mark.parametrize(
    ("first_dirty", "expected"), ((0, 0), (1, NOW - 100), (10, NOW - 100), (11, NOW + 10 - 100))
)
def test_legacy_horizon_counts_from_the_last_segment_that_was_cleaned(
    first_dirty: int, expected: int
) -> None:
    assert legacy_horizon_ms(SOURCES, first_dirty, config=CONFIG) == expected


@pytest.mark.parametrize(("modified_ms", "is_reached"), ((99, True), (100, True), (101, False)))
def test_old_tombstones_are_removed_from_segments_modified_before_the_horizon(
    modified_ms: int,
    is_reached: bool,  # noqa: FBT001 - a value of the table
) -> None:
    assert is_legacy_horizon_reached(modified_ms, 100) is is_reached
