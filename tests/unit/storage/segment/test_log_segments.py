"""Segments of a log are found by offset."""

import pytest

from cordwood.storage.segment.log_segments import LogSegments
from tests.unit.storage.segment_samples import created, filled, table, v2


def segments(*base_offsets: int) -> LogSegments:
    over, found = table(), LogSegments()
    for base_offset in base_offsets:
        found.add(created(base_offset, over=over))
    return found


def test_segments_are_in_the_order_of_their_offsets_in_any_order_of_adding() -> None:
    found = segments(251, 0, 133)

    assert [segment.base_offset for segment in found] == [0, 133, 251]
    assert found.base_offsets == (0, 133, 251)
    assert found.first.base_offset == 0
    assert found.active.base_offset == 251
    assert len(found) == 3


def test_segments_contain_their_base_offsets() -> None:
    found = segments(0, 133)

    assert 133 in found
    assert 134 not in found
    assert 132 not in found


def test_segments_have_one_segment_a_base_offset() -> None:
    found = segments(0)

    with pytest.raises(AssertionError, match="base offsets are unique"):
        found.add(created(0))


def test_removed_segment_is_not_found() -> None:
    found = segments(0, 133, 251)

    found.remove(found.first)

    assert found.base_offsets == (133, 251)
    assert found.floor(5) is None


def test_segment_of_another_log_is_not_removed() -> None:
    found = segments(0)

    with pytest.raises(AssertionError, match="the segment is in the list"):
        found.remove(created(0))


@pytest.mark.parametrize(
    ("offset", "base"), ((0, 0), (132, 0), (133, 133), (230, 217), (268, 251), (9999, 251))
)
def test_floor_is_the_segment_whose_range_the_offset_falls_into(offset: int, base: int) -> None:
    found = segments(0, 133, 217, 251).floor(offset)

    assert found is not None
    assert found.base_offset == base


@pytest.mark.parametrize(
    ("offset", "bases"), ((5, [10, 20, 30]), (10, [10, 20, 30]), (29, [20, 30]), (99, [30]))
)
def test_from_floor_are_all_that_may_hold_the_offset_or_later_ones(
    offset: int, bases: list[int]
) -> None:
    found = segments(10, 20, 30).from_floor(offset)

    assert [segment.base_offset for segment in found] == bases


@pytest.mark.parametrize(
    ("first", "end", "bases"),
    ((0, 10, []), (0, 11, [10]), (15, 20, [10]), (15, 21, [10, 20]), (20, 99, [20, 30])),
)
def test_between_are_those_that_may_hold_offsets_of_a_range(
    first: int, end: int, bases: list[int]
) -> None:
    found = segments(10, 20, 30).between(first, end)

    assert [segment.base_offset for segment in found] == bases


def test_segment_ends_where_the_next_one_begins_and_the_active_one_with_the_log() -> None:
    found = segments(0, 133)

    assert found.higher(found.first) is found.active
    assert found.higher(found.active) is None
    assert found.end_of(found.first, 200) == 133
    assert found.end_of(found.active, 200) == 200


def test_size_is_that_of_all_logs() -> None:
    found = segments(0, 133)
    filled(found.first, (v2(0), v2(1)))
    filled(found.active, (v2(133),))

    assert found.size == len(v2(0)) * 3


def test_segments_may_be_removed_during_iteration() -> None:
    found = segments(0, 133, 251)

    for segment in found:
        found.remove(segment)

    assert len(found) == 0
