"""Reports of an audit."""

import json

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.spark.jobs.table_audit.audit_report import (
    MAX_SHOWN,
    Audit,
    PartitionAudit,
    RowCount,
)
from cordwood.spark.jobs.table_audit.deep_comparison import DeepComparison
from cordwood.spark.jobs.tables.offset_comparison import (
    OffsetComparison,
    OffsetFault,
    OffsetFindings,
    OffsetKind,
)
from cordwood.spark.jobs.tables.offset_spans import OffsetSpans
from tests.unit.spark.jobs.export_samples import ORDERS

pytestmark = pytest.mark.spark


def _of(fault: OffsetFault, *pairs: tuple[int, int]) -> OffsetFindings:
    return OffsetFindings.of(OffsetSpans.of(pairs), fault)


def _audit(
    findings: OffsetFindings = OffsetFindings(),  # noqa: B008  # it never changes
    *,
    rows: RowCount = RowCount(92, 92),  # noqa: B008  # as above
    deep: DeepComparison | None = None,
) -> Audit:
    compared = OffsetComparison(
        proven=90, findings=findings, absent={OffsetKind.ABORTED: 3}, kept={OffsetKind.EXPIRED: 2}
    )
    audited = PartitionAudit(partition=ORDERS, compared=compared, behind=7, rows=rows, deep=deep)
    return Audit(table="lake", partitions=[audited], columns=("key", "value") if deep else ())


def test_report_of_a_complete_table_has_the_proven_records() -> None:
    found = _audit()

    assert found.is_whole
    assert str(found).splitlines() == [
        (
            "orders-0: 90 offsets exactly once; 3 aborted records correctly left out; "
            "2 expired offsets in the table only; 7 not exported yet"
        ),
        "lake: 90 offsets, each exactly once",
    ]


def test_report_names_the_faults() -> None:
    found = _audit(_of(OffsetFault.MISSING, (4, 6)))

    assert not found.is_whole
    assert str(found).splitlines()[1:] == [
        "orders-0: missing: offsets 4 to 5: in the log, but not in the table",
        "lake: 1 range missing",
    ]


def test_report_limits_the_findings_of_a_partition() -> None:
    found = _audit(_of(OffsetFault.DOUBLED, *((at, at + 1) for at in range(0, 100, 2))))

    assert f"orders-0: and {50 - MAX_SHOWN} more" in str(found)


def test_report_is_available_as_json() -> None:
    parsed = json.loads(_audit(_of(OffsetFault.MISSING, (4, 6))).to_json())

    assert parsed == {
        "table": "lake",
        "is_whole": False,
        "partitions": {
            "orders-0": {
                "proven": 90,
                "behind": 7,
                "holes": {"aborted": 3},
                "kept": {"expired": 2},
                "findings": [{"wrong": "missing", "start": 4, "end": 6}],
                "rows": {"claimed": 92, "found": 92},
            }
        },
    }


@pytest.mark.parametrize(("found", "fault"), ((80, "short"), (93, "surplus")))
def test_report_compares_the_rows_with_the_count_of_the_commits(found: int, fault: str) -> None:
    audit = _audit(rows=RowCount(92, found))

    assert not audit.is_whole
    assert str(audit).splitlines()[1:] == [
        f"orders-0: {fault}: the table's commits count 92 records, and it has {found}",
        f"lake: 1 range {fault}",
    ]


def test_report_of_a_deep_audit_names_the_columns() -> None:
    audit = _audit(deep=DeepComparison(rows=88, skipped=2, findings=OffsetFindings()))

    assert "the contents of 88 compared; 2 removed during the audit" in str(audit)
    assert "90 offsets, each exactly once; 88 rows with the log's key, value" in str(audit)


def test_report_of_a_deep_audit_names_ranges_that_differ() -> None:
    findings = _of(OffsetFault.ALTERED, (0, 90))

    audit = _audit(deep=DeepComparison(rows=90, skipped=0, findings=findings))

    assert not audit.is_whole
    assert "orders-0: altered: offsets 0 to 89: a row among these differs" in str(audit)
