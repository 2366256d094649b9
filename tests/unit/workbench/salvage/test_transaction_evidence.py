"""Indexes and snapshots prove how transactions ended, unless the log contradicts them."""

import pytest

from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.damaged_markers import DamagedMarker, find_markers
from cordwood.workbench.salvage.lost_markers import LostMarker, LostMarkers
from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRange, LostRanges
from cordwood.workbench.salvage.producer_events import ProducerEvents
from cordwood.workbench.salvage.transaction_evidence import TransactionEvidence, read_evidence
from tests.unit.workbench.salvage_samples import SOURCE, batch, directory, entries, harmed, marker

ZERO = "00000000000000000000"
DATA = TransactionEvent(0, 1, 7, 0, 0, 1000)
LATER = DATA._replace(first=5, last=6)
ABORT = DATA._replace(first=7, last=7, is_commit=False)
LOST = LostRanges([LostRange(2, 4)])


def lost_marker(marker: DamagedMarker) -> LostMarkers:
    assert marker.offset is not None
    return LostMarkers([LostMarker(marker, marker.offset, marker.offset)])


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
    ("data", "is_right"),
    (
        (marker(2), False),
        (marker(3), True),
        (marker(2, producer_id=99), False),
        (marker(2, is_commit=False), True),
    ),
)
def test_index_that_a_damaged_commit_contradicts_proves_nothing(
    data: bytes, is_right: object
) -> None:
    (found,) = find_markers(harmed(data, 18))
    lost = LostRanges([LostRange(2, 4)], markers=lost_marker(found))
    contents = {f"{ZERO}.log": batch(0), f"{ZERO}.txnindex": entries((7, 0, 2), (7, 5, 7))}
    events = ProducerEvents((DATA, LATER, ABORT))

    proof = read_evidence(directory(contents), SOURCE, events=events, lost=lost, notes=[])

    assert (proof.aborted_with(7, 1) is not None) is is_right


def test_entry_at_the_offset_of_damaged_data_proves_nothing() -> None:
    lost = LostRanges([LostRange(2, 4)], markers=LostMarkers(others=[(2, 2)]))
    contents = {f"{ZERO}.log": batch(0), f"{ZERO}.txnindex": entries((7, 0, 2), (7, 5, 7))}
    events = ProducerEvents((DATA, LATER, ABORT))
    notes: list[str] = []

    found = read_evidence(directory(contents), SOURCE, events=events, lost=lost, notes=notes)

    assert found.aborted_with(7, 1) is None
    assert "the damaged batch at offset 2 is not a marker" in notes[0]


def test_entry_of_another_segment_shows_an_open_transaction() -> None:
    contents = {
        f"{ZERO}.log": batch(0),
        f"{5:020}.log": batch(5),
        f"{ZERO}.txnindex": entries((7, 0, 2)),
        f"{5:020}.txnindex": entries((8, 1, 7)),
    }
    end = ABORT._replace(producer_id=8)
    events = ProducerEvents((DATA, LATER._replace(producer_id=8, first=5), end))
    notes: list[str] = []

    found = read_evidence(directory(contents), SOURCE, events=events, lost=LOST, notes=notes)

    assert found.aborted_with(7, 1) is None
    assert "a transaction from offset 1 on was open" in notes[0]


def test_index_without_a_damaged_abort_proves_nothing() -> None:
    (found,) = find_markers(harmed(marker(3, is_commit=False), 18))
    lost = LostRanges([LostRange(2, 4)], markers=lost_marker(found))
    contents = {f"{ZERO}.log": batch(0), f"{ZERO}.txnindex": entries((7, 5, 7))}
    events = ProducerEvents((DATA, LATER, ABORT))
    notes: list[str] = []

    proof = read_evidence(directory(contents), SOURCE, events=events, lost=lost, notes=notes)

    assert not proof.covers(LostRange(2, 4))
    assert "it lacks a damaged abort marker" in notes[0]


def test_entry_with_too_high_a_last_stable_offset_proves_nothing() -> None:
    """Producer 8 has a transaction open from offset 1 on."""
    other = DATA._replace(first=1, last=1, producer_id=8)
    events = DATA._replace(last=0), other, LATER, ABORT

    found, notes = evidence((7, 0, 2), events=events)

    assert found.aborted_with(7, 0) is None
    assert "a transaction from offset 1 on was open" in notes[0]


def test_snapshot_before_the_loss_contradicts_an_entry_too() -> None:
    state = ProducerStateEntry(7, 0, (), -1, 1000, 0)
    contents = {
        f"{ZERO}.log": batch(0),
        f"{ZERO}.txnindex": entries((7, 1, 3)),
        f"{2:020}.snapshot": encode_snapshot([state]),
    }
    lost = LostRanges([LostRange(3, 4)])

    found = read_evidence(
        directory(contents), SOURCE, events=ProducerEvents([DATA]), lost=lost, notes=[]
    )

    assert found.aborted_with(7, 1) is None


@pytest.mark.parametrize(("delta", "is_proof"), ((0, True), (1, False)))
def test_snapshot_with_data_at_the_offset_of_a_marker_contradicts_its_entry(
    delta: int, *, is_proof: bool
) -> None:
    """The last batch of producer 8 ends at offset 4; the entry has an abort at offset 3."""
    state = ProducerStateEntry(8, 0, (BatchMetadata(5, 4, delta, 1000),), -1, 1000)
    contents = {
        f"{ZERO}.log": batch(0),
        f"{ZERO}.txnindex": entries((7, 0, 3)),
        f"{9:020}.snapshot": encode_snapshot([state]),
    }
    lost = LostRanges([LostRange(2, 4)])

    found = read_evidence(
        directory(contents), SOURCE, events=ProducerEvents([DATA]), lost=lost, notes=[]
    )

    assert (found.aborted_with(7, 0) is not None) is is_proof


def test_damaged_marker_inside_of_a_transaction_contradicts_its_entry() -> None:
    (left,) = find_markers(harmed(marker(2), 71, 73))
    lost = LostRanges([LostRange(2, 4)], markers=lost_marker(left))
    contents = {f"{ZERO}.log": batch(0), f"{ZERO}.txnindex": entries((7, 0, 3))}
    notes: list[str] = []

    found = read_evidence(
        directory(contents), SOURCE, events=ProducerEvents([DATA]), lost=lost, notes=notes
    )

    assert found.aborted_with(7, 0) is None
    assert "has ended it before offset 3" in notes[0]


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
