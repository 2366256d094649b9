"""Transactions end as indexes and snapshots prove, or are doubtful."""

from collections.abc import Mapping

import pytest

from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.lost_ranges import LostRange, LostRanges
from cordwood.workbench.salvage.producer_events import ProducerEvents
from cordwood.workbench.salvage.salvage import salvage
from cordwood.workbench.salvage.transaction_ends import (
    TransactionEnds,
    doubtful_producers,
    find_ends,
)
from cordwood.workbench.salvage.transaction_evidence import ComparedIndex, TransactionEvidence
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    broken,
    directory,
    entries,
    marker,
    ports,
    transactional,
)

ZERO = "00000000000000000000.log"

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


#: The marker of the first transaction is at 2; the second one is committed or aborted at 7.
FIRST = transactional(0, 2)
SECOND = batch(3, 2) + transactional(5, 2)
#: An aborted transaction of another producer.
OTHER_ABORT = transactional(10, producer_id=8) + marker(11, is_commit=False, producer_id=8)


def test_lost_abort_is_rebuilt_from_the_transaction_index() -> None:
    log = FIRST + broken(marker(2, is_commit=False)) + SECOND + marker(7)
    files = directory({ZERO: log, ZERO.replace("log", "txnindex"): entries((7, 0, 2))})

    report = salvage(ports(files), SOURCE, out="/out")

    assert (report.lost, report.doubtful) == ((), ())
    assert [each[:3] for each in report.mended] == [
        (2, 2, "abort marker of producer 7 rebuilt: the transaction index has it")
    ]
    assert read_whole(files, f"/out/t-0/{ZERO.replace('log', 'txnindex')}") == entries((7, 0, 2))


def test_lost_commit_is_rebuilt_before_an_abort_of_the_index() -> None:
    log = FIRST + broken(marker(2)) + SECOND + marker(7, is_commit=False)
    files = directory({ZERO: log, ZERO.replace("log", "txnindex"): entries((7, 5, 7))})

    report = salvage(ports(files), SOURCE, out="/out")

    assert (report.lost, report.doubtful) == ((), ())
    assert [each[:2] for each in report.mended] == [(2, 2)]
    assert read_whole(files, f"/out/t-0/{ZERO.replace('log', 'txnindex')}") == entries((7, 5, 7))


def test_lost_commit_is_rebuilt_before_an_abort_that_is_rebuilt_too() -> None:
    lost = (broken(marker(2)), broken(marker(7, is_commit=False)))
    log = FIRST + lost[0] + SECOND + lost[1] + transactional(8) + marker(9) + OTHER_ABORT
    index = entries((7, 5, 7), (8, 10, 11))
    files = directory({ZERO: log, ZERO.replace("log", "txnindex"): index})

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.mended] == [(2, 2), (7, 7)]
    assert (report.lost, report.doubtful) == ((), ())


def test_records_before_another_transaction_s_abort_are_doubtful_in_a_cleaned_log() -> None:
    log = FIRST + transactional(5, 2) + marker(7, is_commit=False)
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}
    found = []
    for first in (5, 0):
        index = {ZERO.replace("log", "txnindex"): entries((7, first, 7))}
        files = directory({ZERO: log} | index, beside=beside)
        report = salvage(ports(files), SOURCE, out="/out")
        found.append([each[:3] for each in report.doubtful])
        assert (report.lost, report.notes) == ((), ())

    assert found == [[(0, 1, "its transaction's end is lost")], []]


def test_offset_of_a_commit_stays_lost_if_a_record_may_have_been_there() -> None:
    lost = (broken(marker(2)), broken(batch(4, 1)))
    log = FIRST + lost[0] + batch(3, 1) + lost[1] + transactional(5, 2) + marker(7, is_commit=False)
    files = directory({ZERO: log, ZERO.replace("log", "txnindex"): entries((7, 5, 7))})

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(2, 2), (4, 4)]
    assert [each[:2] for each in report.mended] == [(2, 2)]


@pytest.mark.parametrize("index", (None, entries((7, 5, 8)), entries((7, 0, 7)), b"x"))
def test_records_whose_end_is_lost_are_doubtful_without_a_sound_index(index: bytes | None) -> None:
    contents = {ZERO: FIRST + broken(marker(2)) + SECOND + marker(7)}
    if index is not None:
        contents[ZERO.replace("log", "txnindex")] = index

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert [each[:3] for each in report.doubtful] == [(0, 1, "its transaction's end is lost")]
    assert [each[:2] for each in report.lost] == [(2, 2)]


def test_transaction_without_any_end_is_noted() -> None:
    files = directory({ZERO: batch(0) + transactional(4) + broken(marker(5)) + batch(6)})

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.doubtful] == [(4, 4)]
    assert report.notes[0].startswith("the transaction of producer 7 from offset 4 on has no end")
