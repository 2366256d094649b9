"""Snapshots, indexes and the cleaner prove that a marker is missing, and where it was."""

from collections.abc import Mapping

import pytest

from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRange, LostRanges
from cordwood.workbench.salvage.marker_bounds import gaps_with_markers, marker_bounds
from cordwood.workbench.salvage.producer_events import ProducerEvents
from cordwood.workbench.salvage.salvage import salvage
from cordwood.workbench.salvage.transaction_evidence import ComparedIndex, TransactionEvidence
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    directory,
    marker,
    ports,
    transactional,
)

DATA = TransactionEvent(0, 1, 7, 0, 0, 1000)
LATER = DATA._replace(first=10, last=11)
COMMIT = DATA._replace(first=12, last=12, is_commit=True)
ABORT = COMMIT._replace(is_commit=False)
GAP = LostRange(4, 7)


def evidence(
    snapshots: Mapping[int, Mapping[int, int]], *aborted: AbortedTxn
) -> TransactionEvidence:
    return TransactionEvidence([ComparedIndex(list(aborted), [], 0, -1)], snapshots)


@pytest.mark.parametrize(
    ("snapshots", "bounds"),
    (
        ({}, (2, None)),
        ({4: {7: 0}}, (4, None)),
        ({4: {7: 0}, 8: {}}, (4, 8)),
        ({8: {7: 6}}, (2, 8)),
        ({8: {7: 0}, 20: {}}, (8, None)),
    ),
)
def test_snapshots_bound_a_marker(
    snapshots: Mapping[int, Mapping[int, int]], bounds: tuple[int, int | None]
) -> None:
    found = marker_bounds(DATA, COMMIT, evidence=evidence(snapshots), lost=LostRanges([]))

    assert found == bounds


@pytest.mark.parametrize(("first", "end"), ((10, 10), (0, None)))
def test_marker_is_before_a_transaction_that_the_next_marker_aborts(
    first: int, end: int | None
) -> None:
    found = evidence({}, AbortedTxn(7, first, 12, 13))

    assert marker_bounds(DATA, ABORT, evidence=found, lost=LostRanges([])) == (2, end)


@pytest.mark.parametrize(
    ("lost", "end"),
    (
        (LostRanges([], cleaned_to=8, gaps=[GAP]), UNKNOWN_END),
        (LostRanges([LostRange(9, 9)], cleaned_to=8), UNKNOWN_END),
        (LostRanges([], cleaned_to=8), None),
        (LostRanges([], cleaned_to=1, gaps=[GAP]), None),
    ),
    ids=("gap", "lost offset", "nothing is missing", "above the cleaned offsets"),
)
def test_cleaner_has_passed_no_open_transaction(lost: LostRanges, end: int | None) -> None:
    assert marker_bounds(DATA, None, evidence=evidence({}), lost=lost) == (2, end)


@pytest.mark.parametrize(
    ("snapshots", "lost", "gaps"),
    (
        ({8: {}}, [], {GAP}),
        ({8: {7: 0}}, [], set()),
        ({8: {}}, [LostRange(2, 3)], set()),
        ({4: {}}, [], set()),
    ),
    ids=("ended behind the gap", "open behind it", "offsets are lost", "ended before it"),
)
def test_gap_had_the_marker_if_nothing_else_had_it(
    snapshots: Mapping[int, Mapping[int, int]], lost: list[LostRange], gaps: set[LostRange]
) -> None:
    events = ProducerEvents([DATA, LATER, COMMIT])
    ranges = LostRanges(lost, cleaned_to=8, gaps=[GAP])

    assert gaps_with_markers(events, ranges, evidence=evidence(snapshots)) == gaps


def test_segment_that_had_a_marker_is_lost_below_the_cleaner_s_checkpoint() -> None:
    """The snapshot at the next segment shows that the transaction has ended before it."""
    contents = {
        f"{0:020}.log": batch(0) + transactional(4, 2),
        f"{8:020}.log": batch(8),
        f"{8:020}.snapshot": encode_snapshot([ProducerStateEntry(7)]),
    }
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}

    report = salvage(ports(directory(contents, beside=beside)), SOURCE, out="/out")

    why = "in no file; the marker of a transaction was among them"
    assert [each[:3] for each in report.lost] == [(6, 7, why)]
    assert [each[:3] for each in report.doubtful] == [(4, 5, "its transaction's end is lost")]
    assert [each[0] for each in report.mended] == [7]
    assert (report.gaps, report.notes) == ((), ())


def test_gap_behind_a_marker_is_that_of_a_cleaner() -> None:
    contents = {f"{0:020}.log": transactional(0, 2) + marker(2), f"{8:020}.log": batch(8)}
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}

    report = salvage(ports(directory(contents, beside=beside)), SOURCE, out="/out")

    assert report.is_whole
    assert [each[:2] for each in report.gaps] == [(3, 7)]
