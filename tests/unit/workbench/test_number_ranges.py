"""Ranges of consecutive numbers."""

from cordwood.workbench.number_ranges import consecutive_ranges


def test_runs_are_numbers_that_follow() -> None:
    assert list(consecutive_ranges((1, 2, 5, 7, 8))) == [(1, 2), (5, 5), (7, 8)]
    assert list(consecutive_ranges(())) == []
