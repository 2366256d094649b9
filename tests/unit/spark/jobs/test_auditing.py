"""What an audit says of what it found; tests/spark runs it."""

import json

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.spark.jobs.audit_compare import Comparison, Finding, Kind, Wrong
from cordwood.spark.jobs.auditing import MOST_SHOWN, Audit, PartitionAudit
from tests.unit.spark.jobs.export_samples import ORDERS

pytestmark = pytest.mark.spark


def _audit(*findings: Finding) -> Audit:
    compared = Comparison(
        proven=90, findings=findings, holes={Kind.ABORTED: 3}, kept={Kind.EXPIRED: 2}
    )
    audited = PartitionAudit(partition=ORDERS, compared=compared, behind=7)
    return Audit(table="lake", partitions=[audited])


def test_audit_of_a_whole_table_says_what_is_proven() -> None:
    found = _audit()

    assert found.is_whole
    assert str(found).splitlines() == [
        (
            "orders-0: 90 records are in the table once, 3 aborted in neither, "
            "2 expired in it alone, 7 not exported yet"
        ),
        "lake: has each of 90 records exactly once",
    ]


def test_audit_names_what_is_wrong() -> None:
    found = _audit(Finding(Wrong.MISSING, 4, 6))

    assert not found.is_whole
    assert str(found).splitlines()[1:] == [
        "orders-0: missing: offsets 4 to 5: the log has them, the table has not",
        "lake: 1 ranges missing",
    ]


def test_audit_does_not_show_all_of_many_findings() -> None:
    found = _audit(*(Finding(Wrong.DOUBLED, at, at + 1) for at in range(0, 100, 2)))

    assert f"orders-0: and {50 - MOST_SHOWN} more" in str(found)


def test_audit_says_the_same_as_json() -> None:
    said = json.loads(_audit(Finding(Wrong.MISSING, 4, 6)).to_json())

    assert said == {
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
