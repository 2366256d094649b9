"""Reports of an audit; tests/spark runs audits."""

import json

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.spark.jobs.table_audit.audit_job import MAX_SHOWN, Audit, PartitionAudit
from cordwood.spark.jobs.tables.offset_comparison import (
    OffsetComparison,
    OffsetFault,
    OffsetFinding,
    OffsetKind,
)
from tests.unit.spark.jobs.export_samples import ORDERS

pytestmark = pytest.mark.spark


def _audit(*findings: OffsetFinding) -> Audit:
    compared = OffsetComparison(
        proven=90, findings=findings, absent={OffsetKind.ABORTED: 3}, kept={OffsetKind.EXPIRED: 2}
    )
    audited = PartitionAudit(partition=ORDERS, compared=compared, behind=7)
    return Audit(table="lake", partitions=[audited])


def test_report_of_a_complete_table_has_the_proven_records() -> None:
    found = _audit()

    assert found.is_whole
    assert str(found).splitlines() == [
        (
            "orders-0: 90 records exactly once, 3 aborted in neither, "
            "2 expired in the table only, 7 not exported yet"
        ),
        "lake: 90 records, each exactly once",
    ]


def test_report_names_the_faults() -> None:
    found = _audit(OffsetFinding(OffsetFault.MISSING, 4, 6))

    assert not found.is_whole
    assert str(found).splitlines()[1:] == [
        "orders-0: missing: offsets 4 to 5: in the log, but not in the table",
        "lake: 1 ranges missing",
    ]


def test_report_limits_the_findings_of_a_partition() -> None:
    found = _audit(*(OffsetFinding(OffsetFault.DOUBLED, at, at + 1) for at in range(0, 100, 2)))

    assert f"orders-0: and {50 - MAX_SHOWN} more" in str(found)


def test_report_is_available_as_json() -> None:
    parsed = json.loads(_audit(OffsetFinding(OffsetFault.MISSING, 4, 6)).to_json())

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
            }
        },
    }
