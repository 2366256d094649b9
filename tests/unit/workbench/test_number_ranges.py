"""Ranges of consecutive numbers."""

from cordwood.workbench.number_ranges import consecutive_ranges, ranges_between


def test_runs_are_numbers_that_follow() -> None:
    assert list(consecutive_ranges((1, 2, 5, 7, 8))) == [(1, 2), (5, 5), (7, 8)]
    assert list(consecutive_ranges(())) == []


def test_ranges_between_numbers_reach_to_the_end() -> None:
    assert list(ranges_between((1, 2, 5), first=0, end=8)) == [(0, 0), (3, 4), (6, 7)]
    assert list(ranges_between((0, 7), first=0, end=8)) == [(1, 6)]
    assert list(ranges_between((), first=4, end=4)) == []
    assert list(ranges_between((0,), first=0, end=1 << 62)) == [(1, (1 << 62) - 1)]
