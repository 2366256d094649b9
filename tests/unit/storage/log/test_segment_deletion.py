"""Retention of a log deletes whole segments, at most up to the high watermark."""

import pytest

from cordwood.storage.log.retention import DeletionReason, RetentionHold
from cordwood.storage.log_config import COMPACT
from tests.unit.storage.log_samples import (
    DIRECTORY,
    LogHarness,
    bases,
    batch,
    filled,
    fives,
    follow,
    lead,
    opened,
)
from tests.unit.storage.segment_samples import message

ONE = len(batch())
DAY_MS = 86_400_000


@pytest.mark.parametrize(("records", "left"), ((10, [5, 10]), (15, [0, 5, 10]), (11, [0, 5, 10])))
def test_segments_above_retention_bytes_are_deleted_down_to_at_least_that_size(
    records: int, left: list[int]
) -> None:
    log = filled(opened(fives(retention_bytes=records * ONE)), 15)

    log.delete_old_segments()

    assert bases(log) == left
    assert log.bounds.log_start == left[0]


def test_all_expired_segments_are_deleted_and_replaced_by_an_empty_one() -> None:
    harness = LogHarness()
    log = filled(harness.open(fives(retention_ms=DAY_MS)), 15)
    harness.clock.advance(ms=DAY_MS + 1)

    plan = log.delete_old_segments()

    assert plan.is_rolling
    assert {deletion.reason for deletion in plan.deletions} == {DeletionReason.AGE}
    assert bases(log) == [15]
    assert log.size == 0
    assert log.bounds.log_start == 15
    assert log.bounds.high_watermark == 15
    assert log.bounds.log_end == 15
    assert filled(log, 1).bounds.log_end == 16


def test_segments_that_are_just_not_old_enough_stay() -> None:
    harness = LogHarness()
    log = filled(harness.open(fives(retention_ms=DAY_MS)), 15)
    harness.clock.advance(ms=DAY_MS)

    assert log.delete_old_segments().deletions == ()
    assert bases(log) == [0, 5, 10]


def test_modification_time_does_not_change_the_expiry_of_records_with_timestamps() -> None:
    harness = LogHarness()
    log = filled(harness.open(fives(retention_ms=DAY_MS)), 15)
    harness.clock.advance(ms=DAY_MS + 1)
    for name in harness.files.list(DIRECTORY):
        harness.files.set_modified(f"{DIRECTORY}/{name}", harness.clock.now_ms())

    log.delete_old_segments()

    assert bases(log) == [15]


def test_segments_without_timestamps_expire_by_the_modification_time_of_their_file() -> None:
    harness = LogHarness()
    log = harness.open(fives(retention_ms=DAY_MS))
    follow(log, message(0, magic=0))
    log.set_high_watermark(1)
    harness.clock.advance(ms=DAY_MS + 1)

    log.delete_old_segments()

    assert bases(log) == [1]


def test_retention_never_passes_the_high_watermark() -> None:
    harness = LogHarness()
    log = harness.open(fives(retention_ms=0))
    lead(log, *[batch()] * 20)
    harness.clock.advance(ms=1)

    for high_watermark in range(21):
        log.set_high_watermark(high_watermark)
        log.delete_old_segments()
        assert log.bounds.log_start <= high_watermark
        assert bases(log)[0] <= high_watermark
        assert all(base > high_watermark for base in bases(log)[1:])

    assert bases(log) == [20]
    assert log.size == 0
    assert log.bounds.log_start == 20


def test_compacted_log_deletes_only_segments_below_its_start() -> None:
    harness = LogHarness()
    config = fives(retention_ms=0, retention_bytes=0, cleanup_policy=frozenset({COMPACT}))
    log = filled(harness.open(config), 15)
    harness.clock.advance(days=1)
    log.delete_records(6)

    plan = log.delete_old_segments()

    assert bases(log) == [5, 10]
    assert {hold for kept in plan.kept for hold in kept.holds} == {RetentionHold.POLICY}


def test_new_retention_settings_apply_immediately() -> None:
    log = filled(opened(fives()), 15)
    before = log.delete_old_segments()

    log.configure(fives(retention_bytes=5 * ONE))
    log.delete_old_segments()

    assert before.deletions == ()
    assert bases(log) == [10]
    assert log.config.retention_bytes == 5 * ONE


def test_retention_is_planned_without_doing_it() -> None:
    log = filled(opened(fives(retention_bytes=5 * ONE)), 15)

    plan = log.plan_retention()

    assert [deletion.segment.base_offset for deletion in plan.deletions] == [0, 5]
    assert bases(log) == [0, 5, 10]
