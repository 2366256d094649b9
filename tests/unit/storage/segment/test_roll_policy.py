"""A segment is rolled by size, timestamps, full indexes and offset range."""

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.roll_policy import (
    ActiveSegment,
    IncomingAppend,
    RollLimits,
    RollReason,
    draw_jitter_ms,
    next_base_offset,
    should_roll,
    time_waited_ms,
)
from cordwood.testing.seeded_random import SeededRandom

SEGMENT = ActiveSegment(
    base_offset=100, size=500, first_timestamp=1000, created_ms=9000, is_index_full=False
)
INCOMING = IncomingAppend(size=100, max_timestamp=1000, last_offset=200, now_ms=9000)
LIMITS = RollLimits(segment_bytes=1000, roll_ms=50)


def test_roll_is_not_needed_within_all_limits() -> None:
    assert should_roll(SEGMENT, INCOMING, limits=LIMITS) is None


@pytest.mark.parametrize(("size", "reason"), ((500, None), (501, RollReason.SIZE)))
def test_roll_by_size_needs_more_than_the_limit(size: int, reason: RollReason | None) -> None:
    assert should_roll(SEGMENT, INCOMING._replace(size=size), limits=LIMITS) is reason


@pytest.mark.parametrize(
    ("timestamp", "jitter_ms", "reason"),
    (
        (1050, 0, None),
        (1051, 0, RollReason.TIME),
        (1030, 20, None),
        (1031, 20, RollReason.TIME),
        (10, 0, None),
    ),
)
def test_roll_by_time_compares_records_and_not_the_clock(
    timestamp: int, jitter_ms: int, reason: RollReason | None
) -> None:
    incoming = INCOMING._replace(max_timestamp=timestamp, now_ms=1 << 50)

    found = should_roll(SEGMENT, incoming, limits=LIMITS._replace(jitter_ms=jitter_ms))

    assert found is reason


@pytest.mark.parametrize(("now_ms", "reason"), ((9050, None), (9051, RollReason.TIME)))
def test_roll_by_time_uses_the_clock_when_records_have_no_timestamp(
    now_ms: int, reason: RollReason | None
) -> None:
    segment = SEGMENT._replace(first_timestamp=-1)

    assert should_roll(segment, INCOMING._replace(now_ms=now_ms), limits=LIMITS) is reason


def test_roll_by_time_does_not_apply_to_an_empty_segment() -> None:
    empty = SEGMENT._replace(size=0, first_timestamp=-1)

    assert should_roll(empty, INCOMING._replace(now_ms=1 << 50), limits=LIMITS) is None


def test_roll_by_full_index() -> None:
    full = SEGMENT._replace(is_index_full=True)

    assert should_roll(full, INCOMING, limits=LIMITS) is RollReason.INDEX_FULL


@pytest.mark.parametrize(
    ("offset", "reason"),
    (
        (100 + INT32_MAX, None),
        (100 + INT32_MAX + 1, RollReason.OFFSET_RANGE),
        (99, RollReason.OFFSET_RANGE),
    ),
)
def test_roll_by_offset_out_of_range(offset: int, reason: RollReason | None) -> None:
    empty = SEGMENT._replace(size=0)

    assert should_roll(empty, INCOMING._replace(last_offset=offset), limits=LIMITS) is reason


def test_time_waited_is_that_of_the_roll_decision() -> None:
    assert time_waited_ms(SEGMENT, INCOMING._replace(max_timestamp=1400)) == 400
    assert time_waited_ms(SEGMENT._replace(first_timestamp=-1), INCOMING) == 0


@pytest.mark.parametrize(("jitter_ms", "segment_ms", "most"), ((7, 1000, 7), (1000, 3, 3)))
def test_jitter_is_below_both_its_limit_and_the_segments_time(
    jitter_ms: int, segment_ms: int, most: int
) -> None:
    config = LogConfig(segment_jitter_ms=jitter_ms, segment_ms=segment_ms)
    random = SeededRandom(1)

    drawn = {draw_jitter_ms(random, config) for _ in range(100)}

    assert drawn == set(range(most))


def test_jitter_is_none_by_default() -> None:
    assert draw_jitter_ms(SeededRandom(1), LogConfig()) == 0


@pytest.mark.parametrize(
    ("first", "last", "log_end", "base"),
    ((70, 90, 70, 70), (60, 90, 70, 70), (None, INT32_MAX + 90, 70, 90), (None, 90, 70, 70)),
)
def test_next_base_offset_is_the_first_one_known_and_not_below_the_end(
    first: int | None, last: int, log_end: int, base: int
) -> None:
    assert next_base_offset(first, last, log_end=log_end) == base
