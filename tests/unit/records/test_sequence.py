"""Sequences wrap from the largest 31-bit number to 0, in both directions."""

import pytest

from cordwood.records.sequence import decrement_sequence, increment_sequence

INT_MAX = (1 << 31) - 1


@pytest.mark.parametrize(
    ("sequence", "by", "after"),
    ((0, 1, 1), (INT_MAX, 1, 0), (INT_MAX, 5, 4), (INT_MAX - 1, 3, 1), (7, 0, 7)),
)
def test_sequence_wraps_around_in_both_directions(sequence: int, by: int, after: int) -> None:
    assert increment_sequence(sequence, by) == after
    assert decrement_sequence(after, by) == sequence
