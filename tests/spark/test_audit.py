"""Audits of tables in a Spark session."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from cordwood.core.errors import TableError
from cordwood.spark import jobs
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.iceberg_table import open_catalog
from cordwood.spark.jobs.tables.offset_comparison import OffsetFault, OffsetFinding, OffsetKind
from tests.unit.spark.jobs.export_samples import write_log
from tests.unit.storage.segment_samples import marker, produced, v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.jobs.table_audit.audit_job import Audit

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
    return audited.compared.findings


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


def test_missing_table_is_named(spark: "SparkSession", tmp_path: Path, path: str) -> None:
    assert path
    with pytest.raises(TableError, match="table does not exist"):
        _audit(spark, tmp_path)
