"""The candidates for cleaning, their ranges, and the reasons for uncleanable segments."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.compaction.plan.candidates import (
    CandidateSegment,
    FirstDirtyOffset,
    LogFacts,
    UncleanableReason,
    assess,
    filthiest_first,
    find_first_dirty_offset,
    find_uncleanable_reasons,
    needs_timestamps,
    next_due_ms,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.storage.log_config import COMPACT, DELETE, NEVER, LogConfig

NOW = 1_000_000
HOUR = 3_600_000
COMPACTED = LogConfig(cleanup_policy=frozenset({COMPACT}))
TENS = tuple(CandidateSegment(base, 100) for base in (0, 10, 20, 30))


def log(
    segments: Sequence[CandidateSegment] = TENS,
    config: LogConfig = COMPACTED,
    *,
    checkpoint: int | None = None,
    start: int = 0,
    stable: int = 40,
    high_watermark: int = 40,
) -> LogFacts:
    """Return the facts of a log that ends at 40; by default it has four segments."""
    return LogFacts(
        partition=TopicPartition(TopicName("orders"), PartitionId(0)),
        config=config,
        segments=tuple(segments),
        log_start=start,
        log_end=40,
        high_watermark=high_watermark,
        last_stable=min(stable, high_watermark),
        checkpoint=checkpoint,
    )


def aged(*ages: int) -> list[CandidateSegment]:
    """Return segments of ten records, with timestamps this long before now."""
    return [CandidateSegment(10 * at, 100, NOW - age, NOW - age) for at, age in enumerate(ages)]


# -- the first dirty offset


@pytest.mark.parametrize(
    ("checkpoint", "start", "expected"),
    ((None, 0, 0), (None, 7, 7), (0, 0, 0), (7, 7, 7), (25, 0, 25), (40, 0, 40)),
)
def test_log_is_dirty_from_its_checkpoint_on(
    checkpoint: int | None, start: int, expected: int
) -> None:
    found = find_first_dirty_offset(log(checkpoint=checkpoint, start=start))

    assert (found.offset, found.is_reset, found.warning) == (expected, False, None)


def test_checkpoint_beyond_the_end_is_reset_to_the_start() -> None:
    found = find_first_dirty_offset(log(checkpoint=200))

    assert (found.offset, found.is_reset) == (0, True)
    assert found.warning == (
        "orders-0: the cleaner checkpoint 200 is above the log end offset 40; "
        "the log counts as dirty from 0 on"
    )


def test_checkpoint_below_the_start_is_reset_to_it() -> None:
    found = find_first_dirty_offset(log(checkpoint=0, start=10))

    assert (found.offset, found.is_reset) == (10, True)
    assert found.warning is not None
    assert "below the log start offset 10" in found.warning


def test_start_moved_by_retention_resets_the_dirty_offset() -> None:
    config = LogConfig(cleanup_policy=frozenset({COMPACT, DELETE}))

    found = find_first_dirty_offset(log(config=config, checkpoint=0, start=10))

    assert found == FirstDirtyOffset(10, is_reset=True)


def test_checkpoint_is_reset_of_a_log_that_is_not_chosen() -> None:
    config = replace(COMPACTED, min_cleanable_dirty_ratio=1.0)

    found = assess(log(config=config, checkpoint=15, start=20), NOW)

    assert not found.is_due
    assert (found.first_dirty.offset, found.first_dirty.is_reset) == (20, True)


# -- the first uncleanable offset


@pytest.mark.parametrize("offset", (30, 31, 35, 40))
def test_no_byte_is_cleanable_when_the_start_or_the_checkpoint_is_in_the_active_segment(
    offset: int,
) -> None:
    for facts in (log(start=offset), log(checkpoint=offset)):
        found = assess(facts, NOW)

        assert (found.cleanable_bytes, found.dirty_ratio, found.is_due) == (0, 0.0, False)


def test_active_segment_is_not_cleaned() -> None:
    found = assess(log(), NOW)

    assert (found.first_uncleanable, found.end) == (30, 30)


@pytest.mark.parametrize(
    ("bound", "expected"),
    ((0, (0, 0)), (9, (9, 0)), (10, (10, 10)), (29, (29, 20)), (30, (30, 30)), (31, (30, 30))),
)
def test_high_watermark_and_last_stable_offset_bound_whole_segments(
    bound: int, expected: tuple[int, int]
) -> None:
    for facts in (log(high_watermark=bound), log(stable=bound)):
        found = assess(facts, NOW)

        assert (found.first_uncleanable, found.end) == expected


@pytest.mark.parametrize(
    ("ages", "expected"),
    (
        ((2 * HOUR, 2 * HOUR, HOUR - 1, 0), 20),
        ((2 * HOUR, HOUR - 1, 2 * HOUR, 0), 10),
        ((HOUR, HOUR, HOUR, 0), 30),
        ((0, 0, 0, 0), 0),
    ),
)
def test_first_young_segment_and_all_behind_it_are_not_cleaned(
    ages: tuple[int, ...], expected: int
) -> None:
    found = assess(log(aged(*ages), replace(COMPACTED, min_compaction_lag_ms=HOUR)), NOW)

    assert (found.first_uncleanable, found.end) == (expected, expected)


@pytest.mark.parametrize(("lag", "end"), ((0, 30), (1, 0)))
def test_records_with_future_timestamps_are_young_under_a_lag(lag: int, end: int) -> None:
    config = replace(COMPACTED, min_compaction_lag_ms=lag)

    assert assess(log(aged(-5, 0, 0, 0), config), NOW).end == end


def test_young_clean_segment_does_not_delay_cleaning() -> None:
    config = replace(COMPACTED, min_compaction_lag_ms=HOUR)

    found = assess(log(aged(0, HOUR, HOUR, 0), config, checkpoint=10), NOW)

    assert found.end == 30


def test_records_of_an_undecided_transaction_are_not_cleaned_until_it_is_over() -> None:
    """The case of Kafka's test: data at 0 to 2, an abort marker at 3, and a later segment."""
    config = replace(COMPACTED, min_compaction_lag_ms=HOUR)
    ages = (HOUR - 1, HOUR - 1, HOUR - 1, 0)
    segments = [
        CandidateSegment(base, 100, 0, NOW - age)
        for base, age in zip((0, 3, 4, 5), ages, strict=True)
    ]

    assert assess(log(segments, config, stable=0), NOW).end == 0
    assert assess(log(segments, config, stable=5), NOW).end == 0
    assert assess(log(segments, config, stable=4), NOW + 1).end == 4


# -- the dirty ratio


@pytest.mark.parametrize(
    ("checkpoint", "clean", "cleanable"),
    ((0, 0, 300), (10, 100, 200), (15, 200, 200), (20, 200, 100), (29, 300, 100), (30, 300, 0)),
)
def test_bytes_are_those_of_whole_segments(checkpoint: int, clean: int, cleanable: int) -> None:
    """A partly clean segment counts as clean and as cleanable."""
    found = assess(log(checkpoint=checkpoint), NOW)

    assert (found.clean_bytes, found.cleanable_bytes) == (clean, cleanable)
    assert found.dirty_ratio == cleanable / (clean + cleanable)


@pytest.mark.parametrize(("ratio", "is_due"), ((0.49, True), (0.5, False), (0.51, False)))
def test_log_is_cleaned_when_more_of_it_is_dirty_than_the_ratio(
    ratio: float, *, is_due: bool
) -> None:
    config = replace(COMPACTED, min_cleanable_dirty_ratio=ratio)
    segments = [CandidateSegment(0, 100), CandidateSegment(10, 100), CandidateSegment(20, 0)]

    assert assess(log(segments, config, checkpoint=10), NOW).is_due is is_due


def test_log_of_which_a_single_byte_is_dirty_is_cleaned() -> None:
    assert assess(log([CandidateSegment(0, 1), CandidateSegment(10, 0)]), NOW).is_due


def test_log_that_is_not_compacted_is_not_cleaned() -> None:
    assert not assess(log(config=LogConfig()), NOW).is_due


def test_empty_log_is_not_cleaned() -> None:
    assert not assess(log([CandidateSegment(0, 0)]), NOW).is_due


@pytest.mark.parametrize(("lag", "overdue"), ((4999, 1), (5000, 0), (5001, 0)))
def test_log_is_cleaned_when_a_dirty_segment_has_waited_for_too_long(
    lag: int, overdue: int
) -> None:
    config = replace(COMPACTED, max_compaction_lag_ms=lag, min_cleanable_dirty_ratio=1.0)
    segments = aged(9000, 200, 5000, 0)

    found = assess(log(segments, config, checkpoint=10), NOW)

    assert (found.overdue_ms, found.is_due) == (overdue, overdue > 0)


@pytest.mark.parametrize("timestamp", (-1, 0))
def test_segment_without_timestamps_is_never_overdue(timestamp: int) -> None:
    """Kafka treats timestamp 0 as missing, too."""
    config = replace(COMPACTED, max_compaction_lag_ms=0, min_cleanable_dirty_ratio=1.0)
    segments = [each._replace(first_timestamp=timestamp) for each in TENS]

    found = assess(log(segments, config), NOW)

    assert (found.overdue_ms, found.is_roll_due) == (0, False)


def test_segment_of_the_second_millisecond_there_was_waits() -> None:
    config = replace(COMPACTED, max_compaction_lag_ms=0)
    segments = [each._replace(first_timestamp=1) for each in TENS]

    found = assess(log(segments, config), NOW)

    assert (found.overdue_ms, found.is_roll_due) == (NOW - 1, True)


@pytest.mark.parametrize(
    ("shortest", "longest", "expected"),
    ((0, NEVER, False), (1, NEVER, True), (0, NEVER - 1, True), (1, 1, True)),
)
def test_timestamps_are_needed_only_with_a_compaction_lag(
    shortest: int, longest: int, *, expected: bool
) -> None:
    config = LogConfig(min_compaction_lag_ms=shortest, max_compaction_lag_ms=longest)

    assert needs_timestamps(config) is expected


def test_log_that_has_waited_and_may_not_be_cleaned_is_not_due() -> None:
    config = replace(COMPACTED, max_compaction_lag_ms=1)

    assert not assess(log(aged(9, 9, 9, 9), config, stable=5), NOW).is_due


@pytest.mark.parametrize(
    ("age", "size", "since", "expected"),
    (
        (1001, 5, 0, True),
        (1000, 5, 0, False),
        (1001, 1, 0, True),
        (1001, 0, 0, False),
        (9000, 5, NOW - 1001, True),
        (9000, 5, NOW - 1000, False),
    ),
)
def test_active_segment_that_has_waited_and_is_not_written_to_is_rolled(
    age: int, size: int, since: int, *, expected: bool
) -> None:
    facts = LogFacts(
        partition=TopicPartition(TopicName("orders"), PartitionId(0)),
        config=replace(COMPACTED, max_compaction_lag_ms=1000),
        segments=(CandidateSegment(0, size, NOW - age),),
        log_start=0,
        log_end=9,
        high_watermark=9,
        last_stable=9,
        active_since_ms=since,
    )

    assert assess(facts, NOW).is_roll_due is expected


# -- the order


def test_filthiest_due_log_comes_first() -> None:
    config = replace(COMPACTED, min_cleanable_dirty_ratio=0.4)
    found = [assess(log(config=config, checkpoint=offset), NOW) for offset in (15, 10, 0, 20)]

    assert [each.first_dirty.offset for each in filthiest_first(found)] == [0, 10, 15]


def test_log_past_its_compaction_lag_is_due_and_sorted_by_dirty_ratio() -> None:
    config = replace(COMPACTED, max_compaction_lag_ms=1, min_cleanable_dirty_ratio=0.9)
    waiting = assess(log(aged(0, 0, 9, 0), config, checkpoint=20), NOW)
    dirty = assess(log(), NOW)

    assert filthiest_first([waiting, dirty]) == [dirty, waiting]


# -- the time when a log is due


@pytest.mark.parametrize(
    ("checkpoint", "ratio", "missing"),
    ((0, 0.5, 0), (10, 0.5, 0), (20, 0.5, 101), (30, 0.5, 301), (30, 0.0, 1), (0, 1.0, None)),
)
def test_missing_bytes_are_those_below_the_min_dirty_ratio(
    checkpoint: int, ratio: float, missing: int | None
) -> None:
    config = replace(COMPACTED, min_cleanable_dirty_ratio=ratio)

    assert assess(log(config=config, checkpoint=checkpoint), NOW).missing_bytes == missing


def test_log_that_is_due_is_so_now() -> None:
    assert next_due_ms(log(), NOW) == NOW


def test_log_below_the_dirty_ratio_is_never_due_without_appends() -> None:
    assert next_due_ms(log(checkpoint=20), NOW) is None


def test_log_is_due_when_enough_of_it_is_old_enough() -> None:
    """With 100 clean and 300 dirty bytes the ratio of a half is exceeded by two old segments."""
    config = replace(COMPACTED, min_compaction_lag_ms=HOUR)
    segments = [*aged(HOUR, 9, 7), CandidateSegment(30, 100, NOW, NOW), CandidateSegment(40, 0)]

    found = next_due_ms(log(segments, config, checkpoint=10), NOW)

    assert found == NOW - 7 + HOUR


def test_log_is_due_when_a_segment_has_waited_for_the_compaction_lag() -> None:
    config = replace(COMPACTED, max_compaction_lag_ms=HOUR)

    found = next_due_ms(log(aged(9, 8, 7, 6), config, checkpoint=20), NOW)

    assert found == NOW - 7 + HOUR + 1


def test_log_that_is_idle_is_due_when_its_active_segment_has_waited() -> None:
    config = replace(COMPACTED, max_compaction_lag_ms=HOUR)

    facts = log([CandidateSegment(0, 100, NOW - 5, NOW)], config)

    assert next_due_ms(facts, NOW) == NOW - 5 + HOUR + 1
    assert next_due_ms(replace(facts, active_since_ms=NOW - 3), NOW) == NOW - 3 + HOUR + 1


@given(
    ages=st.lists(st.integers(0, 2 * HOUR), min_size=4, max_size=4),
    lags=st.tuples(st.sampled_from((0, 9, HOUR)), st.sampled_from((9, HOUR, NEVER))),
    checkpoint=st.integers(0, 40),
    stable=st.integers(0, 40),
    wait=st.integers(0, 4 * HOUR),
)
def test_log_is_due_from_the_computed_time_on(
    ages: list[int], lags: tuple[int, int], *, checkpoint: int, stable: int, wait: int
) -> None:
    shortest, longest = lags
    config = replace(COMPACTED, min_compaction_lag_ms=shortest, max_compaction_lag_ms=longest)
    facts = log(aged(*ages), config, checkpoint=checkpoint, stable=stable)

    due_ms, found = next_due_ms(facts, NOW), assess(facts, NOW + wait)

    is_due = due_ms is not None and due_ms <= NOW + wait
    assert is_due or not found.is_due
    assert found.is_due or found.is_roll_due or not is_due


# -- reasons for uncleanable segments


def test_uncleanable_segments_have_their_reasons() -> None:
    config = replace(COMPACTED, min_compaction_lag_ms=HOUR)
    facts = log(aged(HOUR, 0, HOUR, 0), config, stable=25, high_watermark=35)

    assert find_uncleanable_reasons(facts, NOW) == [
        (),
        (UncleanableReason.MIN_COMPACTION_LAG,),
        (UncleanableReason.LAST_STABLE_OFFSET, UncleanableReason.OLDER_SEGMENT),
        (
            UncleanableReason.ACTIVE_SEGMENT,
            UncleanableReason.HIGH_WATERMARK,
            UncleanableReason.LAST_STABLE_OFFSET,
            UncleanableReason.OLDER_SEGMENT,
        ),
    ]


def test_last_stable_offset_is_no_reason_without_an_open_transaction() -> None:
    facts = log(high_watermark=25)

    assert find_uncleanable_reasons(facts, NOW)[2] == (UncleanableReason.HIGH_WATERMARK,)


@given(
    ages=st.lists(st.integers(0, 2 * HOUR), min_size=4, max_size=4),
    checkpoint=st.integers(0, 40),
    stable=st.integers(0, 40),
    high_watermark=st.integers(0, 40),
)
def test_pass_ends_at_the_first_uncleanable_segment(
    ages: list[int], checkpoint: int, stable: int, high_watermark: int
) -> None:
    config = replace(COMPACTED, min_compaction_lag_ms=HOUR)
    facts = log(
        aged(*ages), config, checkpoint=checkpoint, stable=stable, high_watermark=high_watermark
    )

    found = zip(facts.segments, find_uncleanable_reasons(facts, NOW), strict=True)

    assert assess(facts, NOW).end == next(each.base_offset for each, holds in found if holds)
