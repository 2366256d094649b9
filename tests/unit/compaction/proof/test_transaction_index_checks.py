"""Comparison of transaction indexes with markers."""

import pytest

from cordwood.compaction.proof.batch_reader import SegmentFile
from cordwood.compaction.proof.transaction_index_checks import aborted_before, aborted_faults
from cordwood.compaction.proof.transaction_outcomes import AbortedRange
from cordwood.storage.files.file_names import TXN_INDEX
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.compaction.both_sides import BothSides
from tests.unit.compaction.compaction_samples import marker

TOLD = AbortedRange(1, 5, 9)
ENTRY = AbortedTxn(1, 4, 9, 10)


def test_unchanged_entry_is_correct() -> None:
    assert list(aborted_faults({9: TOLD}, {9: ENTRY}, before={9: ENTRY})) == []


@pytest.mark.parametrize(
    "left", ({}, {9: ENTRY._replace(first_offset=5)}, {9: ENTRY._replace(last_stable_offset=9)})
)
def test_changed_entry_is_a_violation(left: dict[int, AbortedTxn]) -> None:
    (wrong,) = aborted_faults({9: TOLD}, left, before={9: ENTRY})

    assert wrong.what == "an aborted transaction is not in the transaction index as it was"


@pytest.mark.parametrize(("before", "expected"), (({9: ENTRY}, ENTRY), ({}, TOLD)))
def test_violation_shows_the_entry_of_the_index_or_of_the_log(
    before: dict[int, AbortedTxn], expected: object
) -> None:
    left = ENTRY._replace(producer_id=2)

    (wrong,) = aborted_faults({9: TOLD}, {9: left}, before=before)

    assert (wrong.file, wrong.offset, wrong.position) == ("producer 1", 9, -1)
    assert (wrong.expected, wrong.found) == (str(expected), str(left))


@pytest.mark.parametrize(
    ("left", "wrongs"),
    (
        (ENTRY, 0),
        (ENTRY._replace(first_offset=TOLD.first_offset), 0),
        (ENTRY._replace(first_offset=6), 1),
        (ENTRY._replace(producer_id=2), 1),
    ),
)
def test_an_entry_that_no_index_had_begins_where_its_data_do(left: AbortedTxn, wrongs: int) -> None:
    assert len(list(aborted_faults({9: TOLD}, {9: left}, before={}))) == wrongs


def test_entry_without_a_marker_is_a_violation() -> None:
    (wrong,) = aborted_faults({}, {9: ENTRY}, before={})

    assert wrong.what == "an aborted transaction without data is in the transaction index"


def test_aborted_before_passes_over_an_index_that_cannot_be_read() -> None:
    batches = {0: [], 5: [marker(9, is_commit=False)], 10: []}
    log = BothSides(batches, {}, end=11, aborted=[ENTRY])
    for base in (0, 10):
        log.put(base, TXN_INDEX, b"\0", suffix="")
    files = [SegmentFile(base, "", 0, 0, 0) for base in batches]

    assert aborted_before(log.reading.source, files) == {9: ENTRY}
