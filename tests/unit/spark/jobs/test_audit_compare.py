"""What follows from what a log and a table have."""

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.spark.jobs.audit_compare import (
    Comparison,
    Finding,
    Kind,
    LogSide,
    Window,
    Wrong,
    compare,
)
from cordwood.spark.jobs.audit_runs import Part, Run

ALL = Window(0, INT64_MAX, is_claimed=False)


def _log(*kinds: Kind, start: int = 0, cleaned_to: int = 0) -> LogSide:
    """Return a log that has ten offsets of each kind, one kind after the other."""
    parts = [
        Part(start + 10 * number, start + 10 * number + 10, kind)
        for number, kind in enumerate(kinds)
    ]
    return LogSide(start, start + 10 * len(kinds), parts, cleaned_to)


def _compare(log: LogSide, *runs: tuple[int, int], window: Window = ALL) -> Comparison:
    return compare(log, [Run(*run) for run in runs], window=window)


def test_records_that_are_in_the_table_once_are_proven() -> None:
    found = _compare(_log(Kind.RECORD), (0, 4), (4, 10))

    assert (found.proven, found.findings) == (10, ())


def test_records_that_the_table_lacks_are_found() -> None:
    found = _compare(_log(Kind.RECORD), (0, 4), (6, 10))

    assert (found.proven, found.findings) == (8, (Finding(Wrong.MISSING, 4, 6),))


def test_finding_goes_on_over_all_that_is_wrong_alike() -> None:
    found = _compare(_log(Kind.RECORD, Kind.COMPACTED), (0, 20), (5, 12), (11, 15))

    assert found.findings == (Finding(Wrong.DOUBLED, 5, 15),)
    assert str(found.findings[0]) == ("doubled: offsets 5 to 14: the table has them more than once")


@pytest.mark.parametrize("kind", (Kind.ABORTED, Kind.MARKER, Kind.COMPACTED, Kind.UNTOLD))
def test_offsets_without_a_record_are_holes(kind: Kind) -> None:
    found = _compare(_log(Kind.RECORD, kind), (0, 10))

    assert (found.holes, found.findings) == ({kind: 10}, ())


@pytest.mark.parametrize("kind", (Kind.COMPACTED, Kind.UNTOLD, Kind.GAP))
def test_table_may_keep_what_the_log_has_no_more(kind: Kind) -> None:
    found = _compare(_log(Kind.RECORD, kind), (0, 20))

    assert (found.kept, found.findings) == ({kind: 10}, ())


@pytest.mark.parametrize(
    ("kind", "wrong"), ((Kind.ABORTED, Wrong.ABORTED), (Kind.MARKER, Wrong.MARKER))
)
def test_table_may_not_have_what_no_reader_is_given(kind: Kind, wrong: Wrong) -> None:
    found = _compare(_log(Kind.RECORD, kind), (0, 20))

    assert found.findings == (Finding(wrong, 10, 20),)


def test_gap_that_no_cleaner_made_is_a_loss() -> None:
    found = _compare(_log(Kind.RECORD, Kind.GAP, Kind.RECORD), (0, 10), (20, 30))

    assert found.findings == (Finding(Wrong.GAP, 10, 20),)


def test_gap_below_where_a_cleaner_was_is_compacted() -> None:
    log = _log(Kind.RECORD, Kind.GAP, Kind.RECORD, cleaned_to=20)

    assert _compare(log, (0, 10), (20, 30)).holes == {Kind.COMPACTED: 10}


def test_rows_from_before_the_log_are_kept() -> None:
    found = _compare(_log(Kind.RECORD, start=50), (30, 60))

    assert (found.proven, found.kept, found.findings) == (10, {Kind.EXPIRED: 20}, ())


def test_rows_from_behind_the_log_are_found() -> None:
    found = _compare(_log(Kind.RECORD), (0, 12))

    assert found.findings == (Finding(Wrong.BEHIND, 10, 12),)


def test_rows_outside_of_the_window_are_not_looked_at() -> None:
    found = _compare(_log(Kind.RECORD), (0, 3), (0, 8), window=Window(4, 8, is_claimed=False))

    assert (found.proven, found.findings) == (4, ())


def test_rows_that_no_commit_claims_are_found() -> None:
    found = _compare(_log(Kind.RECORD), (0, 9), window=Window(0, 6, is_claimed=True))

    assert found.findings == (Finding(Wrong.UNCLAIMED, 6, 9),)


def test_claims_that_the_log_cannot_bear_out_are_found() -> None:
    found = _compare(_log(Kind.RECORD), (0, 10), window=Window(0, 15, is_claimed=True))

    assert found.findings == (Finding(Wrong.BEHIND, 10, 15),)


def test_claims_from_before_the_log_are_holes_or_kept() -> None:
    window = Window(0, 60, is_claimed=True)

    found = _compare(_log(Kind.RECORD, start=50), (30, 60), window=window)

    assert (found.holes, found.kept) == ({Kind.EXPIRED: 30}, {Kind.EXPIRED: 20})


def test_table_that_claims_nothing_may_have_nothing() -> None:
    found = _compare(_log(Kind.RECORD), window=Window(0, 0, is_claimed=True))

    assert found == Comparison(proven=0, findings=(), holes={}, kept={})
