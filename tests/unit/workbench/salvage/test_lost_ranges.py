"""Lost offsets are found in ranges."""

from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRange, LostRanges


def test_offset_of_a_doubtful_batch_is_lost_and_not_free() -> None:
    lost = LostRanges([LostRange(2, 4), LostRange(6, 6, is_free=False)])

    assert [lost.has(offset) for offset in (4, 5, 6)] == [True, False, True]
    assert [lost.is_free(offset) for offset in (4, 6)] == [True, False]


def test_lost_ranges_are_found_between_offsets() -> None:
    lost = LostRanges([LostRange(8, 9), LostRange(2, 4)], cleaned_to=2)

    assert [each[:2] for each in lost.between(3, 9)] == [(3, 4), (8, 8)]
    assert [each[:2] for each in lost.between(5, None)] == [(8, 9)]
    assert [lost.may_lack(offset) for offset in (1, 2, 5)] == [True, True, False]


def test_next_offset_that_may_have_been_a_marker_is_lost_or_cleaned() -> None:
    lost = LostRanges([LostRange(8, 9), LostRange(4, 5)], cleaned_to=2)

    assert [lost.next_lack(offset) for offset in (1, 2, 5, 6, 9)] == [1, 4, 5, 8, 9]
    assert lost.next_lack(10) == UNKNOWN_END
