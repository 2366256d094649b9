"""Damaged markers are compared with the entries of transaction indexes."""

import pytest

from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.damaged_markers import DamagedMarker, find_markers
from cordwood.workbench.salvage.lost_markers import LostMarker, LostMarkers
from cordwood.workbench.salvage.producer_events import ProducerEvents
from tests.unit.workbench.salvage_samples import harmed, marker

DATA = TransactionEvent(0, 1, 7, 0, 0, 1000)
OTHER = DATA._replace(producer_id=8)
ENTRY = AbortedTxn(7, 0, 3, 4)
PRODUCERS = ProducerEvents((DATA, OTHER))


def lost(
    producer_id: int | None, *, is_commit: bool | None, first: int = 2, last: int = 4
) -> LostMarkers:
    return LostMarkers([LostMarker(DamagedMarker(producer_id, None, is_commit), first, last)])


@pytest.mark.parametrize("producer_id", (7, None, 99))
def test_commit_that_may_be_that_of_the_producer_contradicts_an_entry(
    producer_id: int | None,
) -> None:
    assert lost(producer_id, is_commit=True).has_commit(ENTRY, PRODUCERS)
    assert not lost(producer_id, is_commit=False).has_commit(ENTRY, PRODUCERS)
    assert not lost(producer_id, is_commit=None).has_commit(ENTRY, PRODUCERS)


def test_commit_of_another_producer_or_place_contradicts_no_entry() -> None:
    assert not lost(8, is_commit=True).has_commit(ENTRY, PRODUCERS)
    assert not lost(7, is_commit=True, first=4).has_commit(ENTRY, PRODUCERS)
    assert not lost(7, is_commit=True, last=2).has_commit(ENTRY, PRODUCERS)


@pytest.mark.parametrize(
    ("producer_id", "first", "last", "has"),
    ((7, 1, 2, True), (8, 1, 2, False), (None, 1, 2, False), (7, 0, 3, False), (7, 4, 4, False)),
)
def test_marker_inside_of_a_transaction_of_its_producer_ends_that_earlier(
    producer_id: int | None, first: int, last: int, has: object
) -> None:
    markers = lost(producer_id, is_commit=None, first=first, last=last)

    assert markers.has_earlier_end(ENTRY._replace(first_offset=0)) is has
    assert not markers.has_earlier_end(ENTRY._replace(first_offset=2))


def test_marker_before_a_shorter_one_is_compared_too() -> None:
    wide = LostMarker(DamagedMarker(7, None, is_commit=True), 2, 9)
    short = LostMarker(DamagedMarker(8, 3, is_commit=True), 3, 3)

    assert LostMarkers([short, wide]).has_commit(ENTRY._replace(last_offset=5), PRODUCERS)


def test_checksum_decides_before_the_key() -> None:
    (found,) = find_markers(harmed(marker(3), 69, mask=1))
    commits = LostMarkers([LostMarker(found, 3, 3)])

    assert found.is_commit is False
    assert commits.has_commit(ENTRY, PRODUCERS)
    assert not commits.has_other_abort([], PRODUCERS, covered=(0, 9))


@pytest.mark.parametrize("producer_id", (7, None, 99))
def test_abort_without_an_entry_is_missing_in_an_index(producer_id: int | None) -> None:
    aborts = lost(producer_id, is_commit=False)

    assert aborts.has_other_abort([], PRODUCERS, covered=(0, 9))
    assert not aborts.has_other_abort([], PRODUCERS, covered=(0, 3))
    assert not aborts.has_other_abort([ENTRY], PRODUCERS, covered=(0, 9))
    assert not lost(producer_id, is_commit=True).has_other_abort([], PRODUCERS, covered=(0, 9))


def test_entry_of_another_producer_is_not_that_of_a_damaged_abort() -> None:
    other = ENTRY._replace(producer_id=8)

    assert lost(7, is_commit=False).has_other_abort([other], PRODUCERS, covered=(0, 9))


def test_abort_without_data_has_no_entry() -> None:
    ended = ProducerEvents((DATA, DATA._replace(first=2, last=2, is_commit=True)))

    assert not lost(7, is_commit=False, first=3).has_other_abort([], ended, covered=(0, 9))


def test_damaged_batch_that_is_no_marker_is_found_by_its_offsets() -> None:
    others = LostMarkers(others=[(9, 9), (2, 4)])

    assert [at for at in range(12) if others.has_other_batch(at)] == [2, 3, 4, 9]
