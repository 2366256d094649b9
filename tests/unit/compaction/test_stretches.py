"""A log is rewritten whole, or in stretches whose marks fit the memory."""

import pytest

from cordwood.compaction.fates import SegmentSurvey
from cordwood.compaction.marks import Marks
from cordwood.compaction.plan import SourceSegment
from cordwood.compaction.stretches import Stretch, Surveyed, stretches
from tests.unit.compaction.compaction_samples import batch, chunk


def log(*groups: tuple[int, ...]) -> list[list[Surveyed]]:
    """Return segments of so many records, each in chunks of four at the most."""
    found, number = [], 0
    for group in groups:
        found.append([_surveyed(number + sum(group[:at]), group[at]) for at in range(len(group))])
        number += sum(group)
    return found


def _surveyed(first_number: int, records: int) -> Surveyed:
    survey = SegmentSurvey(first_number, first_number)
    for left in range(records, 0, -4):
        survey.add_chunk(size=100, batches=1, records=min(4, left))
    return Surveyed(SourceSegment(first_number, 0, 0, 0, 0, 0), survey)


def test_log_whose_marks_fit_is_one_stretch() -> None:
    groups = log((10, 6), (16,))

    assert stretches(groups, memory_bytes=8) == [Stretch(groups, 0, 32)]


def test_log_is_divided_between_groups() -> None:
    groups = log((10, 6), (7,), (1,), (9, 9))

    found = stretches(groups, memory_bytes=8)

    assert found == [
        Stretch(groups[:3], 0, 24, 4),
        Stretch(groups[3:], 24, 18, 4),
    ]
    assert all(Marks(each.marks).size <= 8 for each in found)


def test_every_stretch_is_as_long_as_its_marks_allow() -> None:
    groups = log(*((8,) for _ in range(6)))

    found = stretches(groups, memory_bytes=8)

    assert [(each.first_number, each.records) for each in found] == [(0, 24), (24, 24)]


def test_largest_chunk_may_be_the_last_of_its_segment() -> None:
    groups = log(*((3,) for _ in range(12)))

    assert {each.spare for each in stretches(groups, memory_bytes=8)} == {3}


def test_group_is_never_divided() -> None:
    groups = log((1,), (100,), (1,))

    found = stretches(groups, memory_bytes=8)

    assert [each.groups for each in found] == [groups[:1], groups[1:2], groups[2:]]


def test_empty_log_is_one_stretch() -> None:
    assert [each.records for each in stretches(log((0,)), memory_bytes=1)] == [0]


@pytest.mark.parametrize(("number", "expected"), ((0, 0), (9, 0), (10, 4), (15, 9), (20, 14)))
def test_numbers_begin_behind_the_spare_ones(number: int, expected: int) -> None:
    stretch = Stretch([], first_number=10, records=10, spare=4)

    assert stretch.renumbered(chunk(batch(0, "a1"), first_number=number)).first_number == expected


def test_records_behind_a_stretch_share_the_marks_behind_it() -> None:
    stretch = Stretch([], first_number=10, records=10, spare=4)

    found = stretch.renumbered(chunk(batch(0, "a1"), first_number=50)).first_number

    assert (found, stretch.marks) == (14, 18)
