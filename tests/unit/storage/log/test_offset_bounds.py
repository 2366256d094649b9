"""The bounds of a log keep their order after every change."""

import pytest

from cordwood.storage.log.offset_bounds import OffsetBounds


def bounds(*, start: int = 0, end: int = 10, high: int = 5, recovery: int = 3) -> OffsetBounds:
    return OffsetBounds(log_start=start, log_end=end, high_watermark=high, recovery_point=recovery)


def values(of: OffsetBounds) -> tuple[int, int, int, int]:
    return of.log_start, of.high_watermark, of.log_end, of.recovery_point


@pytest.mark.parametrize(("high", "settled"), ((0, 4), (4, 4), (7, 7), (11, 10)))
def test_bounds_keep_the_high_watermark_between_start_and_end(high: int, settled: int) -> None:
    new, moved = bounds(start=4, high=high), bounds(start=4, high=4)

    has_moved = moved.update_high_watermark(high)

    assert new.high_watermark == moved.high_watermark == settled
    assert has_moved is (settled != 4)


def test_bounds_reject_a_start_beyond_the_end() -> None:
    with pytest.raises(AssertionError, match="log_start=11"):
        bounds(start=11)


@pytest.mark.parametrize(("unstable", "stable"), ((None, 5), (2, 2), (5, 5), (9, 5)))
def test_last_stable_is_the_first_unstable_below_the_high_watermark(
    unstable: int | None, stable: int
) -> None:
    log = bounds()
    log.first_unstable = unstable  # type: ignore[assignment]  # a plain number will do here

    assert log.last_stable == stable


def test_append_moves_the_end_alone() -> None:
    log = bounds()

    log.advance_log_end(12)

    assert values(log) == (0, 5, 12, 3)


@pytest.mark.parametrize(("flushed", "recovery"), ((2, 3), (8, 8), (99, 10)))
def test_flush_raises_the_recovery_point_up_to_the_end(flushed: int, recovery: int) -> None:
    log = bounds()

    log.advance_recovery_point(flushed)

    assert log.recovery_point == recovery


def test_start_raises_the_high_watermark_and_never_decreases() -> None:
    log = bounds()

    assert log.advance_log_start(7)
    assert not log.advance_log_start(6)
    assert values(log) == (7, 7, 10, 3)


def test_truncation_lowers_all_bounds_to_the_new_end() -> None:
    log = bounds(start=4, high=8, recovery=9)

    log.truncate_to(2)

    assert values(log) == (2, 2, 2, 2)


def test_reset_continues_at_any_offset() -> None:
    log, started = bounds(), bounds()
    log.first_unstable = log.log_start

    log.reset_to(50)
    started.reset_to(50, log_start=40)

    assert values(log) == (50, 50, 50, 3)
    assert "first_unstable=None" in repr(log)
    assert values(started) == (40, 50, 50, 3)


def test_bounds_have_a_repr() -> None:
    text = "OffsetBounds(log_start=0, high_watermark=5, log_end=10, recovery_point=3, "

    assert repr(bounds()) == text + "first_unstable=None)"


def test_truncations_are_counted() -> None:
    log = OffsetBounds(log_start=0, log_end=10)

    log.advance_log_end(12)
    log.advance_log_start(3)
    before = log.truncations
    log.truncate_to(8)
    log.reset_to(50)

    assert before == 0
    assert log.truncations == 2


def test_cleaned_offset_is_lowered_by_a_truncation() -> None:
    bounds = OffsetBounds(log_start=0, log_end=9)
    bounds.set_cleaned_to(7)

    bounds.truncate_to(8)
    before = bounds.cleaned_to
    bounds.truncate_to(5)

    assert before == 7
    assert bounds.cleaned_to == 5


def test_cleaned_offset_is_reset_with_the_log() -> None:
    bounds = OffsetBounds(log_start=0, log_end=9)
    bounds.set_cleaned_to(7)

    bounds.reset_to(3)

    assert bounds.cleaned_to == 3


def test_cleaned_offset_is_none_before_the_first_cleaning() -> None:
    bounds = OffsetBounds(log_start=0, log_end=9)

    bounds.truncate_to(5)

    assert bounds.cleaned_to is None
