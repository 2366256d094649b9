"""Outcomes of transactions from the log: data up to a marker, which decides."""

from functools import partial

from cordwood.compaction.proof.transaction_outcomes import (
    AbortedRange,
    TransactionOutcomes,
    marker_of,
)
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.control_records import ControlType
from cordwood.records.record_batch import RecordBatch
from tests.unit.compaction.compaction_samples import batch, empty, marker, sent


def told(*parts: bytes, beyond: bytes = b"") -> TransactionOutcomes:
    """Return the outcomes of batches."""
    found = TransactionOutcomes()
    for part in parts:
        found.see(header_of(part), partial(marker_of, RecordBatch(part)))
    if beyond:
        found.see_beyond(header_of(beyond), partial(marker_of, RecordBatch(beyond)))
    return found


def header_of(part: bytes) -> BatchHeader:
    header = read_header(part)
    assert header is not None
    return header


def test_data_are_aborted_from_the_first_batch_to_the_marker() -> None:
    found = told(sent(3, "a1"), batch(4, "b1"), sent(5, "a2"), marker(6, is_commit=False))

    aborted = AbortedRange(1, 3, 6)
    assert [found.aborted(1, offset) for offset in (2, 3, 5, 6)] == [None, aborted, aborted, None]
    assert found.undecided == ()


def test_data_that_were_committed_are_not_aborted() -> None:
    found = told(
        sent(3, "a1"), marker(4, is_commit=True), sent(5, "a2"), marker(6, is_commit=False)
    )

    assert found.aborted(1, 3) is None
    assert found.ended_by(header_of(marker(6, is_commit=False))) == AbortedRange(1, 5, 6)


def test_producers_are_distinguished() -> None:
    found = told(sent(0, "a1"), sent(1, "b1", producer=2), marker(2, producer=2, is_commit=False))

    assert found.aborted(2, 1) is not None
    assert found.aborted(1, 0) is None
    assert found.undecided == (0,)


def test_marker_after_the_end_decides_an_open_transaction() -> None:
    found = told(sent(0, "a1"), beyond=marker(9, is_commit=False))

    assert found.aborted(1, 0) == AbortedRange(1, 0, 9)


def test_data_after_the_end_opens_no_transaction() -> None:
    assert told(batch(0, "a1"), beyond=sent(9, "a1")).undecided == ()


def test_an_empty_batch_is_of_its_transaction_and_an_empty_marker_ends_none() -> None:
    found = told(empty(sent(0, "a1")), empty(marker(1, is_commit=True)))

    assert found.undecided == (0,)


def test_control_batch_of_another_type_ends_no_transaction() -> None:
    found = TransactionOutcomes()
    found.see(header_of(sent(0, "a1")), lambda: ControlType.ABORT)

    found.see(header_of(marker(1, is_commit=True)), lambda: ControlType.LEADER_CHANGE)

    assert found.undecided == (0,)
