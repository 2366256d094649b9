"""Open transactions: the earliest one, in any order of their ends."""

from cordwood.workbench.verify.open_transactions import OpenTransactions, SeenTransaction


def opened() -> OpenTransactions:
    transactions = OpenTransactions()
    for producer_id, first in ((1, 10), (2, 20), (3, 30)):
        transactions.add(producer_id, first_offset=first, last_offset=first + 4)
    return transactions


def test_transaction_has_the_first_and_the_last_offset_of_its_data() -> None:
    transactions = opened()
    transactions.add(1, first_offset=40, last_offset=44)

    assert transactions.end(1) == SeenTransaction(10, 44)
    assert transactions.end(1) is None


def test_stable_offset_is_the_first_of_the_earliest_transaction() -> None:
    transactions = opened()
    assert transactions.stable_offset(50) == 10

    transactions.end(2)
    transactions.end(1)

    assert transactions.stable_offset(50) == 30


def test_stable_offset_without_transactions_is_the_next_offset() -> None:
    transactions = opened()
    transactions.clear()

    assert transactions.stable_offset(50) == 50
    assert list(transactions.first_offsets()) == []


def test_transactions_without_data_from_an_offset_on_are_forgotten() -> None:
    transactions = opened()
    transactions.add(1, first_offset=40, last_offset=44)

    transactions.forget_before(30)

    assert list(transactions.first_offsets()) == [(1, 10), (3, 30)]
    assert transactions.stable_offset(50) == 10


def test_producer_may_begin_again() -> None:
    transactions = opened()
    transactions.end(1)
    transactions.add(1, first_offset=60, last_offset=61)

    assert (transactions.stable_offset(70), 1 in transactions) == (20, True)
