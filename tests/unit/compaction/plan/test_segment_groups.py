"""Groups of segments that become one segment."""

import pytest

from cordwood.compaction.plan.cleaning_plan import SourceSegment
from cordwood.compaction.plan.segment_groups import group_segments
from cordwood.core.binary import INT32_MAX
from cordwood.storage.log_config import LogConfig

LARGE = LogConfig(segment_bytes=1000, segment_index_bytes=1000)


def segments(*sizes: int) -> list[SourceSegment]:
    """Return segments of ten records, with indexes of a tenth of the size."""
    return [
        SourceSegment(10 * at, 10 * (at + 1), size, size // 10, size // 10, 0)
        for at, size in enumerate(sizes)
    ]


def sizes(groups: tuple[tuple[SourceSegment, ...], ...]) -> list[list[int]]:
    return [[segment.size for segment in group] for group in groups]


def spread(*bases: int, end: int, size: int = 1) -> list[SourceSegment]:
    """Return small segments that begin at these offsets."""
    ends = (*bases[1:], end)
    return [
        SourceSegment(base, following, size, 0, 0, 0)
        for base, following in zip(bases, ends, strict=True)
    ]


def bases(groups: tuple[tuple[SourceSegment, ...], ...]) -> list[list[int]]:
    return [[segment.base_offset for segment in group] for group in groups]


def test_segments_are_grouped_up_to_the_segment_size() -> None:
    """A second pass over the output of a first one over segments of one gigabyte each."""
    found = group_segments(segments(400, 400, 300, 700, 300, 1000), LARGE)

    assert sizes(found) == [[400, 400], [300, 700], [300], [1000]]


def test_no_segments_have_no_groups() -> None:
    assert group_segments([], LARGE) == ()


@pytest.mark.parametrize(
    ("limit", "expected"), ((1, 1), (199, 1), (200, 2), (299, 2), (300, 3), (301, 3))
)
def test_group_is_as_large_as_segment_bytes_at_most(limit: int, expected: int) -> None:
    config = LogConfig(segment_bytes=limit, segment_index_bytes=1000)

    found = group_segments(segments(100, 100, 100), config)

    assert len(found[0]) == expected
    assert sum(map(len, found)) == 3


@pytest.mark.parametrize(("limit", "expected"), ((19, 1), (20, 2), (29, 2), (30, 3)))
@pytest.mark.parametrize("is_time", (False, True))
def test_indexes_of_a_group_are_as_large_as_segment_index_bytes_at_most(
    limit: int, expected: int, *, is_time: bool
) -> None:
    config = LogConfig(segment_index_bytes=limit)
    other = "index_size" if is_time else "time_index_size"
    found = group_segments(
        [each._replace(**{other: 0}) for each in segments(100, 100, 100)], config
    )

    assert len(found[0]) == expected


def test_offsets_of_a_group_are_within_31_bits_of_its_base() -> None:
    within = spread(0, INT32_MAX, end=INT32_MAX + 1)
    beyond = spread(0, INT32_MAX, end=INT32_MAX + 2)

    assert bases(group_segments(within, LARGE)) == [[0, INT32_MAX]]
    assert bases(group_segments(beyond, LARGE)) == [[0], [INT32_MAX]]


def test_next_base_offset_counts_as_the_last_offset_of_a_segment() -> None:
    """The last offset of a segment is not read; it may be just below the next base offset."""
    sparse = spread(0, 1, INT32_MAX, INT32_MAX + 1, end=INT32_MAX + 2)

    assert bases(group_segments(sparse, LARGE)) == [[0, 1, INT32_MAX], [INT32_MAX + 1]]


def test_empty_segments_join_the_previous_group() -> None:
    empty = spread(0, INT32_MAX, 2 * INT32_MAX, end=3 * INT32_MAX, size=0)

    assert len(group_segments(empty, LARGE)) == 1
