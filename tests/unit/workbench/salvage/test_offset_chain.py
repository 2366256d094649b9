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


def test_chain_of_many_batches_is_found_in_linear_time() -> None:
    offsets = [*range(100_000), 7]

    assert len(longest_chain(singles(*offsets))) == 100_000
