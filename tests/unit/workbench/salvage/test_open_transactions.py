"""Transactions that are open bound the last stable offsets of index entries."""

from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.lost_ranges import LostRange, LostRanges
from cordwood.workbench.salvage.open_transactions import (
    OpenSpan,
    highest_stable,
    spans_beside_log,
    spans_in_log,
)
from cordwood.workbench.salvage.producer_events import ProducerEvents

DATA = TransactionEvent(0, 0, 7, 0, 0, 1000)
OTHER = DATA._replace(first=1, last=2, producer_id=8)
LATER = OTHER._replace(first=6, last=6)
COMMIT = OTHER._replace(first=8, last=8, is_commit=True)


def highest(
    *events: TransactionEvent, offset: int = 4, cleaned_to: int = 0, producer_id: int = 7
) -> int:
    """Return the highest last stable offset of an entry in a log that has lost 4 and 9 to 11."""
    lost = LostRanges([LostRange(4, 4), LostRange(9, 11)], cleaned_to=cleaned_to)
    entry = AbortedTxn(producer_id, 0, offset, offset + 1)
    return highest_stable([entry], spans_in_log(ProducerEvents(events), lost))[offset]


def test_open_transaction_of_another_producer_is_not_stable() -> None:
    assert highest(DATA, OTHER) == 1
    assert highest(DATA, OTHER, COMMIT) == 1
    assert highest(DATA) == 5
    assert highest(DATA, OTHER._replace(first=6, last=6)) == 5


def test_own_transaction_is_ended_by_the_entry() -> None:
    assert highest(DATA, OTHER, producer_id=8) == 0
    assert highest(OTHER, producer_id=8) == 5


def test_lost_marker_may_have_ended_a_transaction() -> None:
    assert highest(DATA, OTHER, offset=9) == 10
    assert highest(DATA, OTHER, LATER, offset=9) == 6
    assert highest(DATA, OTHER, LATER, offset=10) == 11
    assert highest(DATA, OTHER, LATER, COMMIT, offset=9) == 10


def test_cleaned_or_doubtful_data_proves_no_open_transaction() -> None:
    assert highest(DATA, OTHER, cleaned_to=9) == 5
    assert highest(DATA, OTHER._replace(is_doubtful=True)) == 5


def test_oldest_of_several_open_transactions_is_the_bound() -> None:
    third = DATA._replace(first=3, last=3, producer_id=9)

    assert highest(DATA._replace(first=2, last=2), third, OTHER._replace(last=1)) == 1
    assert highest(third, OTHER._replace(last=1), producer_id=8) == 3


def test_own_transactions_are_passed_over() -> None:
    opened = [OpenSpan(0, 9, 7), OpenSpan(1, 9, 7), OpenSpan(2, 9, 8), OpenSpan(3, 9, 9)]
    entries = [AbortedTxn(7, 0, 4, 5), AbortedTxn(8, 2, 6, 7)]

    assert highest_stable(entries, opened) == {4: 2, 6: 0}


def test_entries_and_snapshots_show_open_transactions() -> None:
    found = spans_beside_log([AbortedTxn(7, 0, 4, 5)], {6: {8: 5}})

    assert list(found) == [OpenSpan(0, 4, 7), OpenSpan(5, 5, 8)]
