"""The split of a log into parts and buckets."""

import pytest

from cordwood.compaction.engine.batch_retention import SegmentSurvey
from cordwood.compaction.engine.engine import MOST_BUCKETS
from cordwood.compaction.passes.mark_windows import SurveyedSegment
from cordwood.compaction.passes.pass_parts import PassPart, count_buckets, split_into_parts
from cordwood.compaction.plan.cleaning_plan import SourceSegment


def surveyed(base: int, *sizes: int) -> SurveyedSegment:
    """Return a segment with chunks of these sizes, each with one record."""
    survey = SegmentSurvey(base, first_number=base)
    for size in sizes:
        survey.add_chunk(size=size, batches=1, records=1)
    return SurveyedSegment(SourceSegment(base, base + len(sizes), sum(sizes), 0, 0, 0), survey)


def cut(part: PassPart) -> tuple[int, list[tuple[int, list[int], int]]]:
    """Return a part's group, and the base, chunks and end of its segments."""
    return part.group, [
        (source.base_offset, list(survey.chunk_positions), survey.size)
        for source, survey in part.segments
    ]


def test_large_segment_is_cut_between_chunks() -> None:
    parts = split_into_parts([[surveyed(0, 40, 40, 40)]], part_bytes=50)

    assert [cut(each) for each in parts] == [
        (0, [(0, [0, 40], 80)]),
        (0, [(0, [80], 120)]),
    ]


def test_small_segments_of_a_group_are_one_part() -> None:
    parts = split_into_parts([[surveyed(0, 20), surveyed(1, 20), surveyed(2, 20)]], part_bytes=40)

    assert [cut(each)[1] for each in parts] == [
        [(0, [0], 20), (1, [0], 20)],
        [(2, [0], 20)],
    ]


def test_parts_never_reach_over_a_groups_end() -> None:
    parts = split_into_parts([[surveyed(0, 20)], [surveyed(1, 20)]], part_bytes=1 << 20)

    assert [each.group for each in parts] == [0, 1]


def test_empty_group_is_a_part() -> None:
    (part,) = split_into_parts([[surveyed(0)]], part_bytes=100)

    assert cut(part) == (0, [(0, [], 0)])


def test_part_has_the_records_of_its_chunks() -> None:
    last = split_into_parts([[surveyed(5, 40, 40, 40)]], part_bytes=80)[-1]

    assert (last.window.first_number, last.window.records) == (7, 1)


@pytest.mark.parametrize(("memory", "buckets"), ((1000, 1), (400, 2), (100, 8), (50, 16)))
def test_number_of_buckets_follows_the_memory(memory: int, buckets: int) -> None:
    groups = [[surveyed(0, 136, 136), surveyed(2, 10)]]

    assert count_buckets(groups, memory_bytes=memory) == buckets


def test_number_of_buckets_is_limited_by_the_bits_of_the_hash() -> None:
    assert count_buckets([[surveyed(0, 1 << 20)]], memory_bytes=1) == MOST_BUCKETS
