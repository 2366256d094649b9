"""Audits of tables in a Spark session."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from cordwood.core.errors import SettingError, TableError
from cordwood.spark import jobs
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.iceberg_table import open_catalog
from cordwood.spark.jobs.tables.offset_comparison import OffsetFault, OffsetFinding, OffsetKind
from tests.unit.spark.jobs.export_samples import write_log
from tests.unit.storage.segment_samples import marker, produced, v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.jobs.table_audit.audit_report import Audit

pytestmark = pytest.mark.timeout(600)

NAME = "logs.orders"
ABORTED = produced(10, 12, producer_id=1) + marker(13, producer_id=1, is_commit=False)
HOLES = {OffsetKind.ABORTED: 3, OffsetKind.MARKER: 1}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(write_log(tmp_path / "logs", v2(0, 9), ABORTED, v2(14, 19)))


def _audit(spark: "SparkSession", tmp_path: Path, **options: str) -> "Audit":
    own = {"path": str(tmp_path / "logs"), **options}
    return jobs.audit(spark, str(tmp_path / "lake"), options=own)


def _findings(found: "Audit") -> tuple[OffsetFinding, ...]:
    (audited,) = found.partitions
    return tuple(audited.findings())


@pytest.mark.parametrize("kind", ("parquet", "delta", "iceberg"))
def test_table_of_an_export_is_whole(
    spark: "SparkSession", tmp_path: Path, path: str, kind: str
) -> None:
    how = {"format": kind} | ({"table": NAME} if kind == "iceberg" else {})
    own = {"path": path, "partitionBy": "topic,date", "endingOffsets": '{"orders": {"0": 16}}'}
    jobs.export(spark, str(tmp_path / "lake"), options=how | own)

    found = _audit(spark, tmp_path, **how)

    assert found.is_whole, str(found)
    (audited,) = found.partitions
    assert (audited.compared.proven, audited.compared.absent, audited.behind) == (12, HOLES, 4)


def test_rows_that_were_deleted_are_missing(
    spark: "SparkSession", tmp_path: Path, path: str
) -> None:
    how = {"format": "iceberg", "table": NAME}
    jobs.export(spark, str(tmp_path / "lake"), options=how | {"path": path})
    address = TableAddress(path=str(tmp_path / "lake"), format="iceberg", name=NAME)
    open_catalog(address).load_table(NAME).delete("offset >= 7 and offset < 15")

    found = _audit(spark, tmp_path, **how)

    assert _findings(found) == (
        OffsetFinding(OffsetFault.MISSING, 7, 10),
        OffsetFinding(OffsetFault.MISSING, 14, 15),
    )


def test_added_rows_are_doubled_or_unclaimed(
    spark: "SparkSession", tmp_path: Path, path: str
) -> None:
    lake = str(tmp_path / "lake")
    own = {"format": "delta", "path": path, "endingOffsets": '{"orders": {"0": 16}}'}
    jobs.export(spark, lake, options=own)
    rows = DeltaTable(lake).to_pyarrow_table()
    write_deltalake(lake, rows.filter(pa.compute.less(rows["offset"], 2)), mode="append")
    late = rows.slice(0, 1).set_column(4, "offset", pa.array([18], pa.int64()))
    write_deltalake(lake, late, mode="append")

    found = _audit(spark, tmp_path, format="delta")

    assert _findings(found) == (
        OffsetFinding(OffsetFault.DOUBLED, 0, 2),
        OffsetFinding(OffsetFault.UNCLAIMED, 18, 19),
    )


def test_table_of_another_program_is_compared_with_the_whole_log(
    spark: "SparkSession", tmp_path: Path, path: str
) -> None:
    (tmp_path / "lake").mkdir()
    rows = [{"kafka": {"p": 0, "o": offset}} for offset in [*range(12), *range(15, 20)]]
    pq.write_table(pa.table({"r": rows}), tmp_path / "lake" / "rows.parquet")
    names = {"topicName": "orders", "partitionColumn": "r.kafka.p", "offsetColumn": "r.kafka.o"}

    found = _audit(spark, tmp_path, **names)

    assert _findings(found) == (
        OffsetFinding(OffsetFault.ABORTED, 10, 12),
        OffsetFinding(OffsetFault.MISSING, 14, 15),
    )


def test_gap_in_the_log_is_a_finding(spark: "SparkSession", tmp_path: Path) -> None:
    path = str(write_log(tmp_path / "logs", v2(0, 3), v2(6, 9)))
    jobs.export(spark, str(tmp_path / "lake"), options={"path": path})

    assert _findings(_audit(spark, tmp_path)) == (OffsetFinding(OffsetFault.GAP, 4, 6),)


def _export_thousand(spark: "SparkSession", tmp_path: Path) -> str:
    """Export a thousand records to Delta, and return the folder of the table."""
    batches = [v2(first, first + 99) for first in range(0, 1000, 100)]
    path, lake = str(write_log(tmp_path / "logs", *batches)), str(tmp_path / "lake")
    jobs.export(spark, lake, options={"path": path, "format": "delta"})
    return lake


def _start_log_at(tmp_path: Path, offset: int) -> None:
    checkpoint = tmp_path / "logs" / "log-start-offset-checkpoint"
    checkpoint.write_text(f"0\n1\norders 0 {offset}\n")


def test_rows_lost_before_the_log_start_are_found(spark: "SparkSession", tmp_path: Path) -> None:
    lake = _export_thousand(spark, tmp_path)
    DeltaTable(lake).delete("offset >= 100 and offset < 300")
    _start_log_at(tmp_path, 500)

    found = _audit(spark, tmp_path, format="delta")

    assert not found.is_whole
    assert _findings(found) == ()
    assert (
        "orders-0: short: the table's commits count 1,000 records, and it has 800"
        in str(found).splitlines()
    )


def test_deep_audit_finds_rows_with_other_contents(spark: "SparkSession", tmp_path: Path) -> None:
    lake = _export_thousand(spark, tmp_path)
    whole = _audit(spark, tmp_path, format="delta", deep="true")
    DeltaTable(lake).update(updates={"value": "X'58'"}, predicate="offset = 70")

    found = _audit(spark, tmp_path, format="delta", deep="true")

    assert whole.is_whole, str(whole)
    assert str(whole).endswith("1,000 rows with the log's key, value, timestamp")
    assert _findings(found) == (OffsetFinding(OffsetFault.ALTERED, 0, 1000),)
    assert _audit(spark, tmp_path, format="delta").is_whole


@pytest.mark.parametrize("kind", ("parquet", "iceberg"))
def test_deep_audit_compares_headers(spark: "SparkSession", tmp_path: Path, kind: str) -> None:
    path = str(write_log(tmp_path / "logs", v2(0, 9), ABORTED, v2(14, 19)))
    how = {"format": kind, "includeHeaders": "true", "partitionBy": "topic,date"}
    how |= {"table": NAME} if kind == "iceberg" else {}
    jobs.export(spark, str(tmp_path / "lake"), options=how | {"path": path})

    found = _audit(spark, tmp_path, deep="true", **how)

    assert found.is_whole, str(found)
    assert str(found).endswith("16 rows with the log's key, value, headers, timestamp, date")


def test_deep_audit_needs_a_table_of_an_export(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    write_log(tmp_path / "logs", v2(0, 9))
    rows = pa.table({"topic": ["orders"], "partition": [0], "offset": [0]})
    pq.write_table(rows, tmp_path / "lake" / "rows.parquet")

    with pytest.raises(SettingError, match="has no columns of an export to compare"):
        _audit(spark, tmp_path, deep="true")


def test_audit_of_one_topic_leaves_the_others_out(spark: "SparkSession", tmp_path: Path) -> None:
    for partition in ("orders-0", "orders-1", "returns-0"):
        write_log(tmp_path / "logs", v2(0, 9), partition=partition)
    path = str(tmp_path / "logs")
    jobs.export(spark, str(tmp_path / "lake"), options={"path": path})

    one = _audit(spark, tmp_path, subscribe="returns")
    assigned = _audit(spark, tmp_path, assign='{"orders": [1]}')

    assert (one.is_whole, assigned.is_whole) == (True, True), f"{one}\n{assigned}"
    assert [str(each.partition) for each in one.partitions] == ["returns-0"]
    assert [str(each.partition) for each in assigned.partitions] == ["orders-1"]


def test_missing_table_is_named(spark: "SparkSession", tmp_path: Path, path: str) -> None:
    assert path
    with pytest.raises(TableError, match="table does not exist"):
        _audit(spark, tmp_path)
