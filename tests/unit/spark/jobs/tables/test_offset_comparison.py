"""Comparison of a log and a table."""

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.spark.jobs.tables.offset_comparison import (
    AuditWindow,
    LogSide,
    OffsetComparison,
    OffsetFault,
    OffsetFinding,
    OffsetKind,
    compare_offsets,
)
from cordwood.spark.jobs.tables.offset_spans import LayerSpan, OffsetSpan

ALL = AuditWindow(0, INT64_MAX, is_claimed=False)


def _log(*kinds: OffsetKind, start: int = 0, cleaned_to: int = 0) -> LogSide:
    """Return a log with ten offsets of each kind, in this order."""
    parts = [
        LayerSpan(start + 10 * number, start + 10 * number + 10, kind)
        for number, kind in enumerate(kinds)
    ]
    return LogSide(start, start + 10 * len(kinds), parts, cleaned_to)


def _compare(log: LogSide, *runs: tuple[int, int], window: AuditWindow = ALL) -> OffsetComparison:
    return compare_offsets(log, [OffsetSpan(*run) for run in runs], window=window)


def test_records_that_are_in_the_table_once_are_proven() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 4), (4, 10))

    assert (found.proven, found.findings) == (10, ())


def test_records_missing_in_the_table_are_found() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 4), (6, 10))

    assert (found.proven, found.findings) == (8, (OffsetFinding(OffsetFault.MISSING, 4, 6),))


def test_adjacent_faults_of_one_kind_are_one_finding() -> None:
    found = _compare(_log(OffsetKind.RECORD, OffsetKind.COMPACTED), (0, 20), (5, 12), (11, 15))

    assert found.findings == (OffsetFinding(OffsetFault.DOUBLED, 5, 15),)
    assert str(found.findings[0]) == "doubled: offsets 5 to 14: more than once in the table"


@pytest.mark.parametrize(
    "kind", (OffsetKind.ABORTED, OffsetKind.MARKER, OffsetKind.COMPACTED, OffsetKind.UNTOLD)
)
def test_offsets_without_a_record_are_absent(kind: OffsetKind) -> None:
    found = _compare(_log(OffsetKind.RECORD, kind), (0, 10))

    assert (found.absent, found.findings) == ({kind: 10}, ())


@pytest.mark.parametrize("kind", (OffsetKind.COMPACTED, OffsetKind.UNTOLD, OffsetKind.GAP))
def test_table_may_keep_deleted_offsets(kind: OffsetKind) -> None:
    found = _compare(_log(OffsetKind.RECORD, kind), (0, 20))

    assert (found.kept, found.findings) == ({kind: 10}, ())


@pytest.mark.parametrize(
    ("kind", "wrong"),
    ((OffsetKind.ABORTED, OffsetFault.ABORTED), (OffsetKind.MARKER, OffsetFault.MARKER)),
)
def test_table_may_not_have_offsets_without_a_readable_record(
    kind: OffsetKind, wrong: OffsetFault
) -> None:
    found = _compare(_log(OffsetKind.RECORD, kind), (0, 20))

    assert found.findings == (OffsetFinding(wrong, 10, 20),)


def test_gap_outside_of_compaction_is_a_fault() -> None:
    found = _compare(_log(OffsetKind.RECORD, OffsetKind.GAP, OffsetKind.RECORD), (0, 10), (20, 30))

    assert found.findings == (OffsetFinding(OffsetFault.GAP, 10, 20),)


def test_gap_below_the_cleaned_offset_is_compacted() -> None:
    log = _log(OffsetKind.RECORD, OffsetKind.GAP, OffsetKind.RECORD, cleaned_to=20)

    assert _compare(log, (0, 10), (20, 30)).absent == {OffsetKind.COMPACTED: 10}


def test_rows_before_the_log_are_kept() -> None:
    found = _compare(_log(OffsetKind.RECORD, start=50), (30, 60))

    assert (found.proven, found.kept, found.findings) == (10, {OffsetKind.EXPIRED: 20}, ())


def test_rows_after_the_log_are_found() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 12))

    assert found.findings == (OffsetFinding(OffsetFault.BEHIND, 10, 12),)


def test_rows_outside_of_the_window_are_not_compared() -> None:
    found = _compare(
        _log(OffsetKind.RECORD), (0, 3), (0, 8), window=AuditWindow(4, 8, is_claimed=False)
    )

    assert (found.proven, found.findings) == (4, ())


def test_rows_that_no_commit_claims_are_found() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 9), window=AuditWindow(0, 6, is_claimed=True))

    assert found.findings == (OffsetFinding(OffsetFault.UNCLAIMED, 6, 9),)


def test_claims_after_the_end_of_the_log_are_found() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 10), window=AuditWindow(0, 15, is_claimed=True))

    assert found.findings == (OffsetFinding(OffsetFault.BEHIND, 10, 15),)


def test_claims_before_the_log_are_absent_or_kept() -> None:
    window = AuditWindow(0, 60, is_claimed=True)

    found = _compare(_log(OffsetKind.RECORD, start=50), (30, 60), window=window)

    assert (found.absent, found.kept) == ({OffsetKind.EXPIRED: 30}, {OffsetKind.EXPIRED: 20})


def test_table_without_claims_may_be_empty() -> None:
    found = _compare(_log(OffsetKind.RECORD), window=AuditWindow(0, 0, is_claimed=True))

    assert found == OffsetComparison(proven=0, findings=(), absent={}, kept={})
