"""The longest chain of ascending offsets is found; joints decide between chains of one length."""

import pytest

from cordwood.workbench.salvage.offset_chain import ChainEnds, OffsetSpan, longest_chain


def singles(*offsets: int) -> list[OffsetSpan]:
    return [(offset, offset) for offset in offsets]


@pytest.mark.parametrize(
    ("offsets", "chain"),
    (
        ((0, 1, 2), {0, 1, 2}),
        ((0, 9, 1, 2), {0, 2, 3}),
        ((0, 0, 2), {0, 2}),
        ((0, 2, 2, 3), {0, 2, 3}),
        ((0, 1, 3, 3), {0, 1, 3}),
        ((5, 40, 6, 90), {0, 2, 3}),
        ((), set()),
    ),
)
def test_chain_joins_its_neighbours(offsets: tuple[int, ...], chain: set[int]) -> None:
    assert set(longest_chain(singles(*offsets), ChainEnds(0, {4}))) == chain


def test_batches_of_a_chain_do_not_overlap() -> None:
    spans = [(0, 4), (7, 7), (6, 9)]

    assert set(longest_chain(spans, ChainEnds(0, {10}))) == {0, 2}


def test_batch_without_a_span_is_in_no_chain() -> None:
    assert set(longest_chain([(0, 1), None, (2, 3)])) == {0, 2}


@pytest.mark.parametrize(
    ("spans", "chain"),
    (
        ([(9, 13), (0, 1)], {0}),
        ([(9, 13), (5, 6)], {1}),
        ([(9, 13), None, (0, 1)], {0}),
        ([(9, 13), (0, 1), (2, 3)], {1, 2}),
    ),
)
def test_batch_of_a_chain_leaves_room_for_those_before_it(
    spans: list[OffsetSpan | None], chain: set[int]
) -> None:
    assert set(longest_chain(spans, ChainEnds(0, {18}, needs_room=True))) == chain


def test_batch_without_room_is_in_a_chain_whose_offsets_can_be_corrected() -> None:
    assert set(longest_chain([(9, 13), (0, 1)], ChainEnds(0, {18}))) == {1}


def test_chain_of_many_batches_is_found_in_linear_time() -> None:
    offsets = [*range(100_000), 7]

    assert len(longest_chain(singles(*offsets))) == 100_000
