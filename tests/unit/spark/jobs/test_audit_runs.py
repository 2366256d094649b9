"""Offsets as runs."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cordwood.spark.jobs.audit_runs import (
    Part,
    Run,
    above,
    counted,
    joined,
    layer,
    overlaid,
    packed,
    unpacked,
)

SHORT = st.builds(
    lambda start, length: Run(start, start + length), st.integers(0, 20), st.integers(1, 9)
)
RUNS = st.lists(SHORT, max_size=8)


def _offsets(runs: list[Run]) -> Counter[int]:
    return Counter(offset for run in runs for offset in range(*run))


def test_runs_that_follow_each_other_are_joined() -> None:
    assert joined([Run(5, 8), Run(0, 5), Run(9, 10)]) == [Run(0, 8), Run(9, 10)]


@given(RUNS)
def test_joined_runs_have_each_offset_as_often(runs: list[Run]) -> None:
    assert _offsets(joined(runs)) == _offsets(runs)


@given(RUNS)
def test_count_says_how_often_offsets_are_there(runs: list[Run]) -> None:
    found = counted(runs)

    assert {at: part.value for part in found for at in range(part.start, part.end)} == _offsets(
        runs
    )


@given(RUNS, RUNS)
def test_overlaid_layers_say_of_each_offset_what_either_says(
    left: list[Run], right: list[Run]
) -> None:
    counts = _offsets(left), _offsets(right)

    found = overlaid(counted(left), counted(right))

    said = {at: part.value for part in found for at in range(part.start, part.end)}
    assert said == {
        at: (counts[0].get(at), counts[1].get(at)) for at in counts[0].keys() | counts[1].keys()
    }


def test_layer_on_top_hides_the_one_below() -> None:
    found = above(layer([Run(2, 4)], "top"), layer([Run(0, 6)], "below"))

    assert found == [Part(0, 2, "below"), Part(2, 4, "top"), Part(4, 6, "below")]


def test_layer_that_says_nothing_hides_nothing() -> None:
    assert above([], layer([Run(0, 6)], "below")) == [Part(0, 6, "below")]


@given(RUNS)
def test_packed_runs_come_back(runs: list[Run]) -> None:
    assert unpacked(packed(runs)) == runs
