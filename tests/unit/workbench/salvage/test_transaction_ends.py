"""Transactions end as indexes and snapshots prove, or are doubtful."""

from collections.abc import Mapping

from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.transaction_ends import (
    TransactionEnds,
    doubtful_producers,
    find_ends,
)
from cordwood.workbench.salvage.transaction_evidence import (
    ComparedIndex,
    LostRange,
    LostRanges,
    ProducerEvents,
    TransactionEvidence,
)

DATA = TransactionEvent(0, 1, 7, 0, 0, 1000)
LATER = DATA._replace(first=5, last=6)
COMMIT = DATA._replace(first=7, last=7, is_commit=True)
ABORT = COMMIT._replace(is_commit=False)


def ends(
    *events: TransactionEvent,
    aborted: tuple[AbortedTxn, ...] = (),
    reach: int = -1,
    snapshots: Mapping[int, Mapping[int, int]] | None = None,
) -> TransactionEnds:
    """Return the ends of transactions in a log that has lost the offsets 2 to 4."""
    evidence = TransactionEvidence([ComparedIndex(list(aborted), [], 0, reach)], snapshots or {})
    return find_ends(ProducerEvents(events), LostRanges([LostRange(2, 4)]), evidence=evidence)


def markers(found: TransactionEnds) -> list[tuple[int, bool]]:
    return [(each.offset, each.is_commit) for each in found.markers]


def test_log_without_losses_inside_transactions_is_as_it_is() -> None:
    assert ends(LATER, COMMIT) == ([], [], {})


def test_abort_of_the_index_is_rebuilt_at_its_offset() -> None:
    found = ends(DATA, LATER, COMMIT, aborted=(AbortedTxn(7, 0, 3, 4),))

    assert (markers(found), found.doubtful) == ([(3, False)], [])


def test_commit_is_rebuilt_before_a_transaction_that_the_index_has_aborted() -> None:
    found = ends(DATA, LATER, ABORT, aborted=(AbortedTxn(7, 5, 7, 8),), reach=7)

    assert (markers(found), found.doubtful) == ([(4, True)], [])


def test_commit_that_no_index_covers_is_doubtful() -> None:
    found = ends(DATA, LATER, COMMIT)

    assert markers(found) == []
    assert [each[:2] for each in found.doubtful] == [(0, 1)]


def test_transaction_that_a_later_snapshot_has_open_has_lost_no_end() -> None:
    found = ends(DATA, COMMIT, snapshots={5: {7: 0}})

    assert (markers(found), found.doubtful) == ([], [])


def test_transaction_that_a_snapshot_has_ended_is_committed_if_it_was_not_aborted() -> None:
    found = ends(DATA, reach=9, snapshots={5: {}})

    assert (markers(found), found.unended) == ([(4, True)], {})


def test_transaction_without_an_end_is_doubtful_and_open() -> None:
    found = ends(DATA, snapshots={5: {}})

    assert [each[:2] for each in found.doubtful] == [(0, 1)]
    assert found.unended == {7: 0}


def test_records_before_a_doubtful_marker_are_doubtful() -> None:
    found = ends(LATER, COMMIT._replace(is_doubtful=True))

    assert [each[:2] for each in found.doubtful] == [(5, 6)]


def test_producer_has_no_end_behind_its_last_marker() -> None:
    is_unended = doubtful_producers(ProducerEvents([DATA, COMMIT]), ())

    assert [is_unended(7, offset) for offset in (0, 8)] == [False, True]
