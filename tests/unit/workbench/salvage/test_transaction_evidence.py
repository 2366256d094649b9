"""Indexes and snapshots prove how transactions ended, unless the log contradicts them."""

import pytest

from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.transaction_evidence import (
    UNKNOWN_END,
    LostCommit,
    LostRange,
    LostRanges,
    ProducerEvents,
    TransactionEvidence,
    read_evidence,
)
from tests.unit.workbench.salvage_samples import SOURCE, batch, directory, entries

ZERO = "00000000000000000000"
DATA = TransactionEvent(0, 1, 7, 0, 0, 1000)
LATER = DATA._replace(first=5, last=6)
ABORT = DATA._replace(first=7, last=7, is_commit=False)
LOST = LostRanges([LostRange(2, 4)])


def evidence(
    *aborted: tuple[int, int, int], events: tuple[TransactionEvent, ...] = (DATA, LATER, ABORT)
) -> tuple[TransactionEvidence, list[str]]:
    """Return the evidence of a transaction index."""
    contents = {f"{ZERO}.log": batch(0), f"{ZERO}.txnindex": entries(*aborted)}
    notes: list[str] = []
    found = ProducerEvents(events)
    return read_evidence(directory(contents), SOURCE, events=found, lost=LOST, notes=notes), notes


def test_index_proves_a_lost_abort_and_that_there_is_no_other() -> None:
    found, notes = evidence((7, 0, 2), (7, 5, 7))

    assert found.aborted_with(7, 1) == (7, 0, 2, 3)
    assert found.aborted_with(8, 1) is None
    assert found.covers(LostRange(3, 4))
    assert not found.covers(LostRange(8, 9))
    assert notes == []


@pytest.mark.parametrize(
    "aborted",
    (
        ((7, 0, 6),),
        ((7, 6, 7),),
        ((7, 0, 2),),
        ((7, 5, 7), (7, 0, 2)),
        ((-7, 5, 7),),
        ((8, 5, 7),),
    ),
)
def test_index_that_the_log_contradicts_proves_nothing(
    aborted: tuple[tuple[int, int, int], ...],
) -> None:
    found, _ = evidence(*aborted)

    assert not found.covers(LostRange(3, 4))


def test_entry_beyond_the_reach_of_its_segment_is_impossible() -> None:
    lost = LostRanges([LostRange(2, UNKNOWN_END)])
    contents = {f"{ZERO}.log": batch(0), f"{ZERO}.txnindex": entries((7, 0, 1 << 31))}
    notes: list[str] = []

    found = read_evidence(
        directory(contents), SOURCE, events=ProducerEvents([DATA]), lost=lost, notes=notes
    )

    assert found.aborted_with(7, 0) is None
    assert "impossible" in notes[0]


def test_entry_without_its_transaction_in_the_log_proves_nothing_about_its_range() -> None:
    found, notes = evidence((9, 3, 3), (7, 5, 7))

    assert notes == []
    assert found.aborted_with(9, 3) is None
    assert not found.covers(LostRange(3, 3))
    assert found.covers(LostRange(4, 4))


def test_index_with_another_begin_of_a_transaction_proves_nothing() -> None:
    other = DATA._replace(producer_id=9, first=5, last=5)
    events = DATA, other, LATER._replace(first=6), ABORT

    assert evidence((7, 6, 7), events=events)[1] == []
    assert "no transaction begins at offset 5" in evidence((7, 5, 7), events=events)[1][0]


@pytest.mark.parametrize(
    ("offset", "first", "is_right"),
    ((6, 5, True), (6, 0, False), (6, -1, False), (9, -1, True), (9, 8, True), (9, 5, False)),
)
def test_index_that_a_snapshot_contradicts_proves_nothing(
    offset: int, first: int, is_right: object
) -> None:
    state = ProducerStateEntry(7, 0, (), -1, 1000, first)
    contents = {
        f"{ZERO}.log": batch(0),
        f"{ZERO}.txnindex": entries((7, 5, 7)),
        f"{offset:020}.snapshot": encode_snapshot([state]),
    }
    events = ProducerEvents((DATA, LATER, ABORT))

    found = read_evidence(directory(contents), SOURCE, events=events, lost=LOST, notes=[])

    assert found.covers(LostRange(3, 4)) is is_right


@pytest.mark.parametrize(
    ("commit", "is_right"), (((7, 2, 4), False), ((7, 3, 4), True), ((8, 2, 4), True))
)
def test_index_that_a_damaged_commit_contradicts_proves_nothing(
    commit: tuple[int, int, int], is_right: object
) -> None:
    lost = LostRanges([LostRange(2, 4)], commits=[LostCommit(*commit)])
    contents = {f"{ZERO}.log": batch(0), f"{ZERO}.txnindex": entries((7, 0, 2), (7, 5, 7))}
    events = ProducerEvents((DATA, LATER, ABORT))

    found = read_evidence(directory(contents), SOURCE, events=events, lost=lost, notes=[])

    assert (found.aborted_with(7, 1) is not None) is is_right


def test_snapshot_has_the_open_transactions() -> None:
    state = ProducerStateEntry(7, 0, (), -1, 1000, 5)
    contents = {f"{ZERO}.log": batch(0), f"{6:020}.snapshot": encode_snapshot([state])}
    contents[f"{9:020}.snapshot"] = b"damaged"

    found = read_evidence(
        directory(contents), SOURCE, events=ProducerEvents([DATA]), lost=LOST, notes=[]
    )

    assert list(found.openings(7, 2, end=None)) == [(6, 5)]
    assert list(found.openings(8, 2, end=None)) == [(6, None)]
    assert list(found.openings(7, 2, end=5)) == []


def test_offset_of_a_doubtful_batch_is_lost_and_not_free() -> None:
    lost = LostRanges([LostRange(2, 4), LostRange(6, 6, is_free=False)])

    assert [lost.has(offset) for offset in (4, 5, 6)] == [True, False, True]
    assert [lost.is_free(offset) for offset in (4, 6)] == [True, False]


def test_lost_ranges_are_found_between_offsets() -> None:
    lost = LostRanges([LostRange(8, 9), LostRange(2, 4)], cleaned_to=2)

    assert [each[:2] for each in lost.between(3, 9)] == [(3, 4), (8, 8)]
    assert [each[:2] for each in lost.between(5, None)] == [(8, 9)]
    assert [lost.may_lack(offset) for offset in (1, 2, 5)] == [True, True, False]
