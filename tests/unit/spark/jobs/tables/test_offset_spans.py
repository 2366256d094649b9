"""Spans of offsets, and layers."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cordwood.spark.jobs.tables.offset_spans import (
    LayerSpan,
    OffsetSpan,
    count_overlaps,
    make_layer,
    merge_spans,
    overlay,
    pack_spans,
    stack,
    unpack_spans,
)

SHORT = st.builds(
    lambda start, length: OffsetSpan(start, start + length), st.integers(0, 20), st.integers(1, 9)
)
RUNS = st.lists(SHORT, max_size=8)


def _offsets(runs: list[OffsetSpan]) -> Counter[int]:
    return Counter(offset for run in runs for offset in range(*run))


def test_adjacent_spans_are_merged() -> None:
    assert merge_spans([OffsetSpan(5, 8), OffsetSpan(0, 5), OffsetSpan(9, 10)]) == [
        OffsetSpan(0, 8),
        OffsetSpan(9, 10),
    ]


@given(RUNS)
def test_merged_spans_have_the_same_count_of_each_offset(runs: list[OffsetSpan]) -> None:
    assert _offsets(merge_spans(runs)) == _offsets(runs)


@given(RUNS)
def test_count_is_the_number_of_occurrences(runs: list[OffsetSpan]) -> None:
    found = count_overlaps(runs)

    assert {at: part.value for part in found for at in range(part.start, part.end)} == _offsets(
        runs
    )


@given(RUNS, RUNS)
def test_overlaid_layers_have_the_values_of_both(
    left: list[OffsetSpan], right: list[OffsetSpan]
) -> None:
    counts = _offsets(left), _offsets(right)

    found = overlay(count_overlaps(left), count_overlaps(right))

    said = {at: part.value for part in found for at in range(part.start, part.end)}
    assert said == {
        at: (counts[0].get(at), counts[1].get(at)) for at in counts[0].keys() | counts[1].keys()
    }


def test_upper_layer_covers_the_lower_one() -> None:
    found = stack(make_layer([OffsetSpan(2, 4)], "top"), make_layer([OffsetSpan(0, 6)], "below"))

    assert found == [LayerSpan(0, 2, "below"), LayerSpan(2, 4, "top"), LayerSpan(4, 6, "below")]


def test_empty_layer_hides_no_values() -> None:
    assert stack([], make_layer([OffsetSpan(0, 6)], "below")) == [LayerSpan(0, 6, "below")]


@given(RUNS)
def test_packed_spans_are_unpacked(runs: list[OffsetSpan]) -> None:
    assert unpack_spans(pack_spans(runs)) == runs
