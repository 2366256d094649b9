"""A log is rewritten whole, or in windows whose marks fit the memory."""

import pytest

from cordwood.compaction.engine.batch_retention import SegmentSurvey
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.passes.mark_windows import (
    MarkWindow,
    SurveyedSegment,
    split_into_windows,
    window_of,
)
from cordwood.compaction.plan.cleaning_plan import SourceSegment
from tests.unit.compaction.compaction_samples import batch, chunk


def log(*groups: tuple[int, ...]) -> list[list[SurveyedSegment]]:
    """Return segments with these numbers of records, in chunks of at most four."""
    found, number = [], 0
    for group in groups:
        found.append([_surveyed(number + sum(group[:at]), group[at]) for at in range(len(group))])
        number += sum(group)
    return found


def _surveyed(first_number: int, records: int) -> SurveyedSegment:
    survey = SegmentSurvey(first_number, first_number)
    for left in range(records, 0, -4):
        survey.add_chunk(size=100, batches=1, records=min(4, left))
    return SurveyedSegment(SourceSegment(first_number, 0, 0, 0, 0, 0), survey)


def test_log_whose_marks_fit_is_one_window() -> None:
    groups = log((10, 6), (16,))

    assert split_into_windows(groups, memory_bytes=8) == [MarkWindow(groups, 0, 32)]


def test_log_is_divided_between_groups() -> None:
    groups = log((10, 6), (7,), (1,), (9, 9))

    found = split_into_windows(groups, memory_bytes=8)

    assert found == [
        MarkWindow(groups[:3], 0, 24, 4),
        MarkWindow(groups[3:], 24, 18, 4),
    ]
    assert all(Marks(each.marks).size <= 8 for each in found)


def test_window_is_as_long_as_its_marks_allow() -> None:
    groups = log(*((8,) for _ in range(6)))

    found = split_into_windows(groups, memory_bytes=8)

    assert [(each.first_number, each.records) for each in found] == [(0, 24), (24, 24)]


def test_largest_chunk_may_be_the_last_of_its_segment() -> None:
    groups = log(*((3,) for _ in range(12)))

    assert {each.spare for each in split_into_windows(groups, memory_bytes=8)} == {3}


def test_group_is_never_divided() -> None:
    groups = log((1,), (100,), (1,))

    found = split_into_windows(groups, memory_bytes=8)

    assert [each.groups for each in found] == [groups[:1], groups[1:2], groups[2:]]


def test_empty_log_is_one_window() -> None:
    assert [each.records for each in split_into_windows(log((0,)), memory_bytes=1)] == [0]


@pytest.mark.parametrize(("number", "expected"), ((0, 0), (9, 0), (10, 4), (15, 9), (20, 14)))
def test_window_renumbers_records_after_the_spare_numbers(number: int, expected: int) -> None:
    window = MarkWindow([], first_number=10, records=10, spare=4)

    assert window.renumber(chunk(batch(0, "a1"), first_number=number)).first_number == expected


def test_records_after_a_window_share_the_marks_after_it() -> None:
    window = MarkWindow([], first_number=10, records=10, spare=4)

    found = window.renumber(chunk(batch(0, "a1"), first_number=50)).first_number

    assert (found, window.marks) == (14, 18)


def test_window_of_segments_has_their_records_alone() -> None:
    _, group, _ = log((10,), (6, 3, 4), (2,))

    assert window_of(group) == MarkWindow([group], first_number=10, records=13)
