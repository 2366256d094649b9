"""Retention deletes segments by three rules, and explains why the others stay."""

import pytest

from cordwood.storage.log.retention import (
    DeletionReason,
    RetentionHold,
    RetentionPlan,
    SegmentDeletion,
    SegmentFacts,
    plan_retention,
)
from cordwood.storage.log_config import COMPACT, NEVER, LogConfig

NOW = 1_000_000
UNLIMITED = LogConfig(retention_ms=-1, retention_bytes=-1)


def log(*sizes: int, timestamps: tuple[int, ...] | None = None) -> list[SegmentFacts]:
    """Return segments of five records each; a last segment of size 0 is empty."""
    segments = []
    base = 0
    for index, size in enumerate(sizes):
        following = base + (5 if size else 0)
        timestamp = NOW if timestamps is None else timestamps[index]
        segments.append(SegmentFacts(base, following, size, timestamp))
        base = following
    return segments


def plan(
    segments: list[SegmentFacts],
    config: LogConfig = UNLIMITED,
    *,
    start: int = 0,
    high_watermark: int | None = None,
) -> RetentionPlan:
    if high_watermark is None:
        high_watermark = segments[-1].next_base
    return plan_retention(
        segments, log_start_offset=start, high_watermark=high_watermark, config=config, now_ms=NOW
    )


def gone(found: RetentionPlan) -> list[int]:
    return [deletion.segment.base_offset for deletion in found.deletions]


# -- the start of the log


@pytest.mark.parametrize(
    ("start", "expected"),
    ((0, []), (1, []), (4, []), (5, [0]), (6, [0]), (10, [0, 5]), (15, [0, 5])),
)
def test_segments_below_the_log_start_are_deleted(start: int, expected: list[int]) -> None:
    found = plan(log(100, 100, 100), start=start)

    assert gone(found) == expected
    assert {deletion.reason for deletion in found.deletions} <= {DeletionReason.LOG_START}
    assert not found.is_rolling
    assert found.log_start_offset == start


def test_segments_below_the_log_start_are_deleted_in_a_compacted_log() -> None:
    config = LogConfig(cleanup_policy=frozenset({COMPACT}), retention_ms=0, retention_bytes=0)

    found = plan(log(100, 100, 100, timestamps=(0, 0, 0)), config, start=5)

    assert gone(found) == [0]
    assert [kept.holds for kept in found.kept] == [(RetentionHold.POLICY,)] * 2


# -- size


@pytest.mark.parametrize(
    ("limit", "expected"), ((-1, []), (300, []), (201, []), (200, [0]), (199, [0]), (100, [0, 5]))
)
def test_segments_are_deleted_while_the_rest_reaches_retention_bytes(
    limit: int, expected: list[int]
) -> None:
    found = plan(log(100, 100, 100), LogConfig(retention_bytes=limit, retention_ms=-1))

    assert gone(found) == expected
    assert found.log_start_offset == 5 * len(expected)


def test_log_rolls_when_its_last_segment_is_deleted() -> None:
    segments = log(100, 100)

    found = plan(segments, LogConfig(retention_bytes=0, retention_ms=-1))

    assert found == RetentionPlan(
        deletions=tuple(SegmentDeletion(segment, DeletionReason.SIZE) for segment in segments),
        kept=(),
        is_rolling=True,
        log_start_offset=10,
    )


# -- age


@pytest.mark.parametrize(("age", "expected"), ((99, []), (100, []), (101, [0])))
def test_segment_older_than_retention_ms_is_deleted(age: int, expected: list[int]) -> None:
    segments = log(100, 100, timestamps=(NOW - age, NOW))

    assert gone(plan(segments, LogConfig(retention_ms=100))) == expected


def test_all_segments_are_deleted_when_all_are_expired() -> None:
    found = plan(log(100, 100, 100, timestamps=(0, 0, 0)), LogConfig(retention_ms=100))

    assert gone(found) == [0, 5, 10]
    assert found.is_rolling
    assert found.log_start_offset == 15


def test_last_segment_stays_when_it_is_empty() -> None:
    found = plan(log(100, 0, timestamps=(0, 0)), LogConfig(retention_ms=100))

    assert gone(found) == [0]
    assert not found.is_rolling
    assert found.log_start_offset == 5
    assert [kept.holds for kept in found.kept] == [(RetentionHold.EMPTY,)]


def test_young_segment_retains_all_later_ones() -> None:
    segments = log(100, 100, 100, timestamps=(0, NOW + 50, 0))

    found = plan(segments, LogConfig(retention_ms=100))

    assert gone(found) == [0]
    assert [(kept.holds, kept.until_ms) for kept in found.kept] == [
        ((RetentionHold.AGE,), NOW + 151),
        ((RetentionHold.OLDER_SEGMENT,), NOW + 151),
    ]


def test_segments_may_be_deleted_for_different_reasons() -> None:
    segments = log(100, 100, 100, 100, timestamps=(NOW, NOW, 0, NOW))

    found = plan(segments, LogConfig(retention_ms=100, retention_bytes=200), start=5)

    assert [deletion.reason for deletion in found.deletions] == [
        DeletionReason.LOG_START,
        DeletionReason.SIZE,
        DeletionReason.AGE,
    ]


def test_expired_segment_stays_behind_a_young_one_within_the_size() -> None:
    segments = log(100, 100, 100, 100, timestamps=(NOW, NOW, 0, NOW))

    found = plan(segments, LogConfig(retention_ms=100, retention_bytes=250), start=5)

    assert gone(found) == [0]
    assert found.kept[1].holds == (RetentionHold.OLDER_SEGMENT, RetentionHold.SIZE)


# -- the high watermark


@pytest.mark.parametrize("high_watermark", range(0, 101, 4))
def test_start_never_passes_the_high_watermark(high_watermark: int) -> None:
    segments = log(*[10] * 20, timestamps=(0,) * 20)
    start = high_watermark // 5 * 5

    found = plan(segments, LogConfig(retention_ms=1), high_watermark=high_watermark)

    assert found.log_start_offset == start
    assert [kept.segment.base_offset for kept in found.kept] == list(range(start, 100, 5))
    assert found.is_rolling == (high_watermark == 100)


def test_expired_segment_is_retained_only_by_the_high_watermark() -> None:
    segments = log(100, 100, timestamps=(0, NOW))

    found = plan(segments, LogConfig(retention_ms=100, retention_bytes=900), high_watermark=4)

    assert [(kept.holds, kept.until_ms, kept.until_bytes) for kept in found.kept] == [
        ((RetentionHold.HIGH_WATERMARK,), 101, 800),
        ((RetentionHold.HIGH_WATERMARK, RetentionHold.AGE, RetentionHold.SIZE), NOW + 101, 900),
    ]


# -- the reasons that keep the others


def test_segments_without_limits_are_never_deleted() -> None:
    (kept,) = plan(log(100, timestamps=(0,))).kept

    assert kept.holds == (RetentionHold.NO_LIMIT,)
    assert kept.until_ms is None
    assert kept.until_bytes is None


def test_segments_within_the_size_have_the_bytes_until_deletion() -> None:
    found = plan(log(100, 50, 20), LogConfig(retention_ms=-1, retention_bytes=120))

    assert [(kept.holds, kept.until_bytes) for kept in found.kept] == [
        ((RetentionHold.SIZE,), 50),
        ((RetentionHold.SIZE,), 100),
        ((RetentionHold.SIZE,), 120),
    ]


def test_segment_beyond_the_size_is_held_by_the_high_watermark_alone() -> None:
    segments = log(100, 50)

    found = plan(segments, LogConfig(retention_ms=-1, retention_bytes=50), high_watermark=0)

    assert [(kept.holds, kept.until_bytes) for kept in found.kept] == [
        ((RetentionHold.HIGH_WATERMARK,), 0),
        ((RetentionHold.HIGH_WATERMARK, RetentionHold.SIZE), 50),
    ]


def test_segment_has_no_end_when_the_limit_is_the_largest_number() -> None:
    (kept,) = plan(log(100), LogConfig(retention_ms=NEVER)).kept

    assert kept.holds == (RetentionHold.AGE,)
    assert kept.until_ms is None
