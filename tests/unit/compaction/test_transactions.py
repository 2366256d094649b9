"""Aborted data is known by its transaction, and a marker is idle when nothing of its was met."""

from cordwood.compaction.transactions import MarkerFound, TransactionTracker
from cordwood.records.control import ControlType
from cordwood.storage.index import AbortedEntry
from tests.unit.storage.producer_batches import CONTROL, TRANSACTIONAL, header_at

ABORTED = AbortedEntry(1, 10, 20, 21)
BATCH = TRANSACTIONAL
MARKER = TRANSACTIONAL | CONTROL


def data(tracker: TransactionTracker, offset: int, producer: int = 1) -> bool:
    header = header_at(offset, producer=(producer, 0), sequence=0, attributes=BATCH)
    return tracker.on_data(header)


def end(
    tracker: TransactionTracker, offset: int, kind: ControlType | None, producer: int = 1
) -> MarkerFound:
    header = header_at(offset, producer=(producer, 0), sequence=-1, attributes=MARKER)
    return tracker.on_marker(header, kind)


def test_data_is_aborted_between_the_first_offset_and_the_marker() -> None:
    tracker = TransactionTracker([ABORTED])

    before, inside = data(tracker, 9), data(tracker, 10)
    end(tracker, 20, ControlType.ABORT)

    assert (before, inside, data(tracker, 21)) == (False, True, False)


def test_data_of_another_producer_is_not_aborted() -> None:
    tracker = TransactionTracker([ABORTED])

    assert not data(tracker, 11, producer=2)


def test_abort_marker_keeps_its_entry_while_data_is_met() -> None:
    tracker = TransactionTracker([ABORTED])
    data(tracker, 12)

    assert end(tracker, 20, ControlType.ABORT) == MarkerFound(is_idle=False, aborted=ABORTED)


def test_abort_marker_is_idle_when_no_data_is_met() -> None:
    tracker = TransactionTracker([ABORTED])

    assert end(tracker, 20, ControlType.ABORT) == MarkerFound(is_idle=True)


def test_commit_marker_is_idle_when_no_data_is_met() -> None:
    tracker = TransactionTracker([])
    data(tracker, 5, producer=2)

    found = [end(tracker, 20, ControlType.COMMIT, producer) for producer in (1, 2, 2)]

    assert [each.is_idle for each in found] == [True, False, True]


def test_marker_that_was_emptied_is_idle() -> None:
    assert end(TransactionTracker([]), 20, None).is_idle


def test_control_batch_of_a_quorum_is_never_idle() -> None:
    assert not end(TransactionTracker([]), 20, ControlType.LEADER_CHANGE).is_idle


def test_transactions_of_one_producer_follow_each_other() -> None:
    later = AbortedEntry(1, 30, 40, 41)
    tracker = TransactionTracker([later, ABORTED])
    data(tracker, 15)
    first = end(tracker, 20, ControlType.ABORT)
    data(tracker, 35)

    assert [first.aborted, end(tracker, 40, ControlType.ABORT).aborted] == [ABORTED, later]


def test_nothing_is_doubtful_where_markers_are_what_was_told() -> None:
    tracker = TransactionTracker([ABORTED])
    data(tracker, 5)
    end(tracker, 6, ControlType.COMMIT)
    data(tracker, 12)
    end(tracker, 20, ControlType.ABORT)

    assert tracker.doubtful_from is None


def test_data_is_doubtful_that_was_aborted_though_nobody_has_told() -> None:
    tracker = TransactionTracker([])
    data(tracker, 12)
    data(tracker, 14)
    end(tracker, 20, ControlType.ABORT)

    assert tracker.doubtful_from == 12


def test_data_is_doubtful_that_was_committed_though_it_was_told_otherwise() -> None:
    tracker = TransactionTracker([ABORTED])
    data(tracker, 12)
    end(tracker, 20, ControlType.COMMIT)

    assert tracker.doubtful_from == ABORTED.first_offset


def test_doubt_stays_when_another_marker_comes_where_it_was_told() -> None:
    tracker = TransactionTracker([ABORTED])
    data(tracker, 12)
    end(tracker, 15, ControlType.COMMIT)
    data(tracker, 16)
    end(tracker, 20, ControlType.ABORT)

    assert tracker.doubtful_from == ABORTED.first_offset


def test_data_is_doubtful_whose_marker_is_not_where_it_was_told() -> None:
    tracker = TransactionTracker([ABORTED])
    data(tracker, 12)
    end(tracker, 19, ControlType.ABORT)

    assert tracker.doubtful_from == ABORTED.first_offset


def test_data_is_doubtful_while_its_marker_is_to_come() -> None:
    aborting, committing = TransactionTracker([ABORTED]), TransactionTracker([])
    for tracker in (aborting, committing):
        data(tracker, 12)

    assert [aborting.doubtful_from, committing.doubtful_from] == [ABORTED.first_offset, 12]
