"""Spans of offsets."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.spark.jobs.tables.offset_spans import (
    OffsetSpans,
    find_spans,
    merge_spans,
    pack_spans,
    sort_bounds,
    subtract_spans,
    unpack_spans,
)

Pairs = list[tuple[int, int]]

SHORT = st.builds(
    lambda start, length: (start, start + length), st.integers(0, 20), st.integers(1, 9)
)
PAIRS = st.lists(SHORT, max_size=8)
OFFSETS = st.lists(st.integers(0, 20), max_size=20)


def _offsets(pairs: Pairs) -> Counter[int]:
    return Counter(offset for pair in pairs for offset in range(*pair))


@pytest.mark.parametrize(
    ("offsets", "pairs"),
    (
        ([], []),
        ([7], [(7, 8)]),
        ([0, 1, 2, 5, 6], [(0, 3), (5, 7)]),
        ([6, 0, 2, 1, 5], [(0, 3), (5, 7)]),
        ([0, 1, 1, 2], [(0, 2), (1, 3)]),
    ),
)
def test_offsets_become_spans(offsets: list[int], pairs: Pairs) -> None:
    assert find_spans(np.array(offsets, np.int64)).pairs() == pairs


def test_adjacent_spans_are_merged() -> None:
    parts = [OffsetSpans.of([(5, 8)]), OffsetSpans.of([(0, 5), (9, 10)])]

    assert merge_spans(parts).pairs() == [(0, 8), (9, 10)]


@given(PAIRS)
def test_merged_spans_have_the_same_count_of_each_offset(pairs: Pairs) -> None:
    merged = merge_spans([OffsetSpans.of(pairs)])

    assert _offsets(merged.pairs()) == _offsets(pairs)
    assert merged.total == sum(_offsets(pairs).values())


@given(PAIRS)
def test_count_is_the_number_of_occurrences(pairs: Pairs) -> None:
    spans = sort_bounds([OffsetSpans.of(pairs)])

    counts = spans.count_at(np.arange(40))

    assert {at: count for at, count in enumerate(counts.tolist()) if count} == _offsets(pairs)


@given(OFFSETS, OFFSETS)
def test_subtracted_spans_have_the_other_offsets(ours: list[int], theirs: list[int]) -> None:
    spans = [find_spans(np.array(sorted(set(each)), np.int64)) for each in (ours, theirs)]

    found = subtract_spans(*spans)

    assert _offsets(found.pairs()) == Counter(set(ours) - set(theirs))


def test_spans_are_cut_to_a_range() -> None:
    assert OffsetSpans.of([(0, 4), (6, 9), (9, 12)]).between(3, 9).pairs() == [(3, 4), (6, 9)]


@given(PAIRS)
def test_packed_spans_are_unpacked(pairs: Pairs) -> None:
    assert unpack_spans(pack_spans(OffsetSpans.of(pairs))).pairs() == sorted(pairs)
