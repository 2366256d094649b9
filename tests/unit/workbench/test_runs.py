"""Runs of numbers."""

from cordwood.workbench.runs import runs


def test_runs_are_numbers_that_follow() -> None:
    assert list(runs((1, 2, 5, 7, 8))) == [(1, 2), (5, 5), (7, 8)]
    assert list(runs(())) == []
