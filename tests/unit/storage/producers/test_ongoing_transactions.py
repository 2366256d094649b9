"""The first unstable offset as transactions open, end and are replicated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.storage.producers.ongoing_transactions import CompletedTxn, OngoingTransactions


def opened(*first_offsets: int) -> OngoingTransactions:
    transactions = OngoingTransactions()
    for producer_id, first_offset in enumerate(first_offsets):
        transactions.start(producer_id, first_offset)
    return transactions


def ended(producer_id: int, first_offset: int, last_offset: int) -> CompletedTxn:
    return CompletedTxn(producer_id, first_offset, last_offset, is_aborted=False)


def test_transactions_are_stable_when_there_are_none() -> None:
    transactions = OngoingTransactions()

    assert transactions.first_unstable_offset is None
    assert transactions.first_undecided_offset is None


def test_transactions_stay_unstable_until_their_marker_is_replicated() -> None:
    transactions = opened(99, 105)

    transactions.complete(ended(0, 99, 109))
    transactions.forget_below(109)
    before = transactions.first_undecided_offset, transactions.first_unstable_offset
    transactions.forget_below(110)

    assert before == (105, 99)
    assert transactions.first_unstable_offset == 105


def test_transactions_are_unstable_when_all_are_decided_and_one_is_not_replicated() -> None:
    transactions = opened(99, 105)

    transactions.complete(ended(1, 105, 109))
    transactions.complete(ended(0, 99, 112))
    transactions.forget_below(112)

    assert transactions.first_undecided_offset is None
    assert transactions.first_unstable_offset == 99
    assert transactions.has_unreplicated


@pytest.mark.parametrize(
    ("producer_id", "first", "last", "stable"), ((0, 100, 200, 125), (1, 125, 200, 100))
)
def test_transaction_is_stable_up_to_the_next_open_one_when_it_ends(
    producer_id: int, first: int, last: int, stable: int
) -> None:
    transactions = opened(100, 125, 157)

    assert transactions.last_stable_offset_of(ended(producer_id, first, last)) == stable


def test_transaction_is_stable_up_to_its_marker_when_no_other_is_open() -> None:
    assert opened(100).last_stable_offset_of(ended(0, 100, 200)) == 201


def test_transaction_cannot_end_when_it_has_not_started() -> None:
    with pytest.raises(AssertionError, match="never started"):
        opened(99).complete(ended(0, 98, 100))


@given(st.permutations(range(8)), st.lists(st.integers(0, 12), max_size=8))
def test_transactions_are_unstable_from_the_smallest_that_is_left(
    order: list[int], replicated: list[int]
) -> None:
    """Compare with a model in every order of markers and of the high watermarks in between."""
    transactions = opened(*range(8))
    left: dict[int, int] = {}
    for marker, first in enumerate(order, start=100):
        transactions.complete(ended(first, first, marker))
        left[first] = marker
        high_watermark = 98 + replicated.pop() if replicated else 0
        transactions.forget_below(high_watermark)
        left = {first: last for first, last in left.items() if last >= high_watermark}

        undecided = set(range(8)) - set(order[: marker - 99])
        assert transactions.first_unstable_offset == min({*left, *undecided}, default=None)
        assert transactions.has_unreplicated == bool(left)


def test_clear_removes_all_transactions() -> None:
    transactions = opened(99, 105)
    transactions.complete(ended(0, 99, 109))

    transactions.clear()

    assert transactions.first_unstable_offset is None
    assert not transactions.has_unreplicated
