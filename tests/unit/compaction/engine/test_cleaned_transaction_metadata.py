"""Aborted data follows from its transaction; a marker without batches is discardable."""

from cordwood.compaction.engine.cleaned_transaction_metadata import (
    CleanedTransactionMetadata,
    MarkerState,
)
from cordwood.records.control_records import ControlType
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.storage.producer_batches import CONTROL, TRANSACTIONAL, header_at

ABORTED = AbortedTxn(1, 10, 20, 21)
BATCH = TRANSACTIONAL
MARKER = TRANSACTIONAL | CONTROL


def data(tracker: CleanedTransactionMetadata, offset: int, producer: int = 1) -> bool:
    header = header_at(offset, producer=(producer, 0), sequence=0, attributes=BATCH)
    return tracker.on_batch_read(header)


def end(
    tracker: CleanedTransactionMetadata, offset: int, kind: ControlType | None, producer: int = 1
) -> MarkerState:
    header = header_at(offset, producer=(producer, 0), sequence=-1, attributes=MARKER)
    return tracker.on_control_batch_read(header, kind)


def test_data_is_aborted_between_the_first_offset_and_the_marker() -> None:
    tracker = CleanedTransactionMetadata([ABORTED])

    before, inside = data(tracker, 9), data(tracker, 10)
    end(tracker, 20, ControlType.ABORT)

    assert (before, inside, data(tracker, 21)) == (False, True, False)


def test_data_of_another_producer_is_not_aborted() -> None:
    tracker = CleanedTransactionMetadata([ABORTED])

    assert not data(tracker, 11, producer=2)


def test_abort_marker_with_data_keeps_its_transaction_index_entry() -> None:
    tracker = CleanedTransactionMetadata([ABORTED])
    data(tracker, 12)

    assert end(tracker, 20, ControlType.ABORT) == MarkerState(is_discardable=False, aborted=ABORTED)


def test_abort_marker_without_data_is_discardable() -> None:
    tracker = CleanedTransactionMetadata([ABORTED])

    assert end(tracker, 20, ControlType.ABORT) == MarkerState(is_discardable=True)


def test_commit_marker_without_data_is_discardable() -> None:
    tracker = CleanedTransactionMetadata([])
    data(tracker, 5, producer=2)

    found = [end(tracker, 20, ControlType.COMMIT, producer) for producer in (1, 2, 2)]

    assert [each.is_discardable for each in found] == [True, False, True]


def test_marker_that_was_emptied_is_idle() -> None:
    assert end(CleanedTransactionMetadata([]), 20, None).is_discardable


def test_control_batch_of_a_quorum_is_never_idle() -> None:
    assert not end(CleanedTransactionMetadata([]), 20, ControlType.LEADER_CHANGE).is_discardable


def test_transactions_of_one_producer_follow_each_other() -> None:
    later = AbortedTxn(1, 30, 40, 41)
    tracker = CleanedTransactionMetadata([later, ABORTED])
    data(tracker, 15)
    first = end(tracker, 20, ControlType.ABORT)
    data(tracker, 35)

    assert [first.aborted, end(tracker, 40, ControlType.ABORT).aborted] == [ABORTED, later]


def test_data_is_confirmed_when_markers_match_the_aborted_transactions() -> None:
    tracker = CleanedTransactionMetadata([ABORTED])
    data(tracker, 5)
    end(tracker, 6, ControlType.COMMIT)
    data(tracker, 12)
    end(tracker, 20, ControlType.ABORT)

    assert tracker.unconfirmed_from is None


def test_data_aborted_without_an_index_entry_is_unconfirmed() -> None:
    tracker = CleanedTransactionMetadata([])
    data(tracker, 12)
    data(tracker, 14)
    end(tracker, 20, ControlType.ABORT)

    assert tracker.unconfirmed_from == 12


def test_data_committed_despite_an_abort_entry_is_unconfirmed() -> None:
    tracker = CleanedTransactionMetadata([ABORTED])
    data(tracker, 12)
    end(tracker, 20, ControlType.COMMIT)

    assert tracker.unconfirmed_from == ABORTED.first_offset


def test_data_stays_unconfirmed_when_a_later_marker_matches_the_entry() -> None:
    tracker = CleanedTransactionMetadata([ABORTED])
    data(tracker, 12)
    end(tracker, 15, ControlType.COMMIT)
    data(tracker, 16)
    end(tracker, 20, ControlType.ABORT)

    assert tracker.unconfirmed_from == ABORTED.first_offset


def test_data_is_unconfirmed_when_its_marker_is_at_another_offset() -> None:
    tracker = CleanedTransactionMetadata([ABORTED])
    data(tracker, 12)
    end(tracker, 19, ControlType.ABORT)

    assert tracker.unconfirmed_from == ABORTED.first_offset


def test_data_is_unconfirmed_until_its_marker_is_found() -> None:
    aborting, committing = CleanedTransactionMetadata([ABORTED]), CleanedTransactionMetadata([])
    for tracker in (aborting, committing):
        data(tracker, 12)

    assert [aborting.unconfirmed_from, committing.unconfirmed_from] == [ABORTED.first_offset, 12]
