"""Comparison of a log and a table."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.binary import INT64_MAX
from cordwood.spark.jobs.tables.offset_comparison import (
    AuditWindow,
    KindSpans,
    LogSide,
    OffsetComparison,
    OffsetFault,
    OffsetFinding,
    OffsetKind,
    compare_offsets,
    join_kinds,
)
from cordwood.spark.jobs.tables.offset_spans import OffsetSpans, sort_bounds

ALL = AuditWindow(0, INT64_MAX, is_claimed=False)


def _log(*kinds: OffsetKind, start: int = 0, cleaned_to: int = 0) -> LogSide:
    """Return a log with ten offsets of each kind, in this order."""
    parts = [
        KindSpans.of(OffsetSpans.of([(start + 10 * number, start + 10 * number + 10)]), kind)
        for number, kind in enumerate(kinds)
    ]
    end = start + 10 * len(kinds)
    return LogSide(start, end, join_kinds(parts), rest=join_kinds([]), cleaned_to=cleaned_to)


def _compare(log: LogSide, *runs: tuple[int, int], window: AuditWindow = ALL) -> OffsetComparison:
    return compare_offsets(log, sort_bounds([OffsetSpans.of(runs)]), window=window)


def _findings(found: OffsetComparison) -> tuple[OffsetFinding, ...]:
    return tuple(found.findings)


def test_records_that_are_in_the_table_once_are_proven() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 4), (4, 10))

    assert (found.proven, _findings(found)) == (10, ())


def test_records_missing_in_the_table_are_found() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 4), (6, 10))

    assert (found.proven, _findings(found)) == (8, (OffsetFinding(OffsetFault.MISSING, 4, 6),))


def test_adjacent_faults_of_one_kind_are_one_finding() -> None:
    found = _compare(_log(OffsetKind.RECORD, OffsetKind.COMPACTED), (0, 20), (5, 12), (11, 15))

    assert _findings(found) == (OffsetFinding(OffsetFault.DOUBLED, 5, 15),)
    assert str(found.findings[0]) == "doubled: offsets 5 to 14: more than once in the table"


@pytest.mark.parametrize(
    "kind", (OffsetKind.ABORTED, OffsetKind.MARKER, OffsetKind.COMPACTED, OffsetKind.UNKNOWN)
)
def test_offsets_without_a_record_are_absent(kind: OffsetKind) -> None:
    found = _compare(_log(OffsetKind.RECORD, kind), (0, 10))

    assert (found.absent, _findings(found)) == ({kind: 10}, ())


@pytest.mark.parametrize("kind", (OffsetKind.COMPACTED, OffsetKind.UNKNOWN, OffsetKind.GAP))
def test_table_may_keep_deleted_offsets(kind: OffsetKind) -> None:
    found = _compare(_log(OffsetKind.RECORD, kind), (0, 20))

    assert (found.kept, _findings(found)) == ({kind: 10}, ())


@pytest.mark.parametrize(
    ("kind", "wrong"),
    ((OffsetKind.ABORTED, OffsetFault.ABORTED), (OffsetKind.MARKER, OffsetFault.MARKER)),
)
def test_table_may_not_have_offsets_without_a_readable_record(
    kind: OffsetKind, wrong: OffsetFault
) -> None:
    found = _compare(_log(OffsetKind.RECORD, kind), (0, 20))

    assert _findings(found) == (OffsetFinding(wrong, 10, 20),)


def test_gap_outside_of_compaction_is_a_fault() -> None:
    found = _compare(_log(OffsetKind.RECORD, OffsetKind.GAP, OffsetKind.RECORD), (0, 10), (20, 30))

    assert _findings(found) == (OffsetFinding(OffsetFault.GAP, 10, 20),)


def test_gap_below_the_cleaned_offset_is_compacted() -> None:
    log = _log(OffsetKind.RECORD, OffsetKind.GAP, OffsetKind.RECORD, cleaned_to=20)

    assert _compare(log, (0, 10), (20, 30)).absent == {OffsetKind.COMPACTED: 10}


def test_rows_before_the_log_are_kept() -> None:
    found = _compare(_log(OffsetKind.RECORD, start=50), (30, 60))

    assert (found.proven, found.kept, _findings(found)) == (10, {OffsetKind.EXPIRED: 20}, ())


def test_rows_after_the_log_are_found() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 12))

    assert _findings(found) == (OffsetFinding(OffsetFault.BEHIND, 10, 12),)


def test_rows_outside_of_the_window_are_not_compared() -> None:
    found = _compare(
        _log(OffsetKind.RECORD), (0, 3), (0, 8), window=AuditWindow(4, 8, is_claimed=False)
    )

    assert (found.proven, _findings(found)) == (4, ())


def test_rows_that_no_commit_claims_are_found() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 9), window=AuditWindow(0, 6, is_claimed=True))

    assert _findings(found) == (OffsetFinding(OffsetFault.UNCLAIMED, 6, 9),)


def test_claims_after_the_end_of_the_log_are_found() -> None:
    found = _compare(_log(OffsetKind.RECORD), (0, 10), window=AuditWindow(0, 15, is_claimed=True))

    assert _findings(found) == (OffsetFinding(OffsetFault.BEHIND, 10, 15),)


def test_claims_before_the_log_are_absent_or_kept() -> None:
    window = AuditWindow(0, 60, is_claimed=True)

    found = _compare(_log(OffsetKind.RECORD, start=50), (30, 60), window=window)

    assert (found.absent, found.kept) == ({OffsetKind.EXPIRED: 30}, {OffsetKind.EXPIRED: 20})


def test_table_without_claims_may_be_empty() -> None:
    found = _compare(_log(OffsetKind.RECORD), window=AuditWindow(0, 0, is_claimed=True))

    assert (found.proven, _findings(found), found.absent, found.kept) == (0, (), {}, {})


KIND_OF_LOG = (
    OffsetKind.RECORD,
    OffsetKind.ABORTED,
    OffsetKind.MARKER,
    OffsetKind.COMPACTED,
    OffsetKind.GAP,
    OffsetKind.UNKNOWN,
)
FAULT_IF_PRESENT = {
    OffsetKind.ABORTED: "aborted",
    OffsetKind.MARKER: "marker",
    OffsetKind.BEHIND: "behind",
}
FAULT_IF_ABSENT = {
    OffsetKind.RECORD: "missing",
    OffsetKind.GAP: "gap",
    OffsetKind.BEHIND: "behind",
}


def _expected(
    kinds: list[OffsetKind], counts: Counter[int], window: AuditWindow
) -> tuple[list[tuple[int, str]], int]:
    """Return the faulty offsets up to 40, and the number of proven ones, one by one."""
    faults, proven = [], 0
    for at in range(40):
        kind = kinds[at] if at < len(kinds) else OffsetKind.BEHIND
        is_inside, count = window.start <= at < window.end, counts[at]
        if not is_inside and not (window.is_claimed and count):
            continue
        if not count and not window.is_claimed and kind is OffsetKind.BEHIND:
            continue
        fault = FAULT_IF_ABSENT.get(kind) if not count else FAULT_IF_PRESENT.get(kind)
        fault = "unclaimed" if count == 1 and not is_inside else fault
        fault = "doubled" if count > 1 else fault
        proven += fault is None and count == 1 and kind is OffsetKind.RECORD
        if fault is not None:
            faults.append((at, fault))
    return faults, proven


@given(
    st.lists(st.sampled_from(KIND_OF_LOG), max_size=30),
    st.lists(st.integers(0, 39), max_size=50),
    st.builds(AuditWindow, st.integers(0, 40), st.integers(0, 40), st.booleans()),
)
def test_comparison_is_that_of_each_offset_by_itself(
    kinds: list[OffsetKind], offsets: list[int], window: AuditWindow
) -> None:
    parts = [KindSpans.of(OffsetSpans.of([(at, at + 1)]), kind) for at, kind in enumerate(kinds)]
    log = LogSide(0, len(kinds), join_kinds(parts), rest=join_kinds([]))

    found = _compare(log, *((at, at + 1) for at in offsets), window=window)

    listed = [(at, each.fault) for each in found.findings for at in range(each.start, each.end)]
    assert (listed, found.proven) == _expected(kinds, Counter(offsets), window)


def test_comparison_in_steps_is_that_of_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    log = _log(*[OffsetKind.RECORD, OffsetKind.ABORTED] * 20)
    table = [(at, at + 3) for at in range(0, 400, 7)]
    whole = _compare(log, *table)

    monkeypatch.setattr("cordwood.spark.jobs.tables.offset_comparison.STEP_BOUNDS", 3)

    steps = _compare(log, *table)
    assert (steps.proven, _findings(steps)) == (whole.proven, _findings(whole))
    assert (steps.absent, steps.kept) == (whole.absent, whole.kept)


def test_memory_of_a_comparison_is_below_64_bytes_a_span() -> None:
    """A compacted topic of a million keys: every second offset is a record."""
    starts = np.arange(0, 2_000_000, 2)
    tracemalloc.start()
    log = LogSide(
        0,
        2_000_000,
        KindSpans.of(OffsetSpans(starts, starts + 1), OffsetKind.RECORD),
        rest=KindSpans.of(OffsetSpans.of([(0, 2_000_000)]), OffsetKind.COMPACTED),
    )
    table = sort_bounds([OffsetSpans(starts[:-1], starts[:-1] + 1)])

    found = compare_offsets(log, table, window=AuditWindow(0, 2_000_000, is_claimed=True))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.proven, len(found.findings)) == (999_999, 1)
    assert peak < 64 * 1_000_000
