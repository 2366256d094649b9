"""Exports in a Spark session, read back with Spark and with the libraries of the formats."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from deltalake import DeltaTable

import cordwood
from cordwood.core.errors import TableError
from cordwood.spark import jobs
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.iceberg_table import open_catalog
from cordwood.spark.jobs.tables.table_ledger import ExportedOffsets
from tests.unit.spark.jobs.export_samples import ORDERS, write_log
from tests.unit.storage.segment_samples import marker, produced, v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.jobs.table_export.export_job import Export

pytestmark = pytest.mark.timeout(600)

NAME = "logs.orders"
ABORTED = produced(10, 12, producer_id=1) + marker(13, producer_id=1, is_commit=False)
OFFSETS = [*range(10), *range(14, 20)]


def _logs(tmp_path: Path, *more: bytes) -> str:
    return str(write_log(tmp_path / "logs", v2(0, 4), v2(5, 9), ABORTED, v2(14, 19), *more))


def _export(spark: "SparkSession", tmp_path: Path, path: str, **options: str) -> "Export":
    """Export into `lake`."""
    return jobs.export(spark, str(tmp_path / "lake"), options={"path": path, **options})


def _rows(spark: "SparkSession", kind: str, lake: str) -> list[tuple[str, int, int]]:
    """Return the rows of a table, read with the library of its format."""
    columns = ["topic", "partition", "offset"]
    if kind == "parquet":
        return sorted(map(tuple, spark.read.parquet(lake).select(*columns).collect()))
    if kind == "delta":
        found = DeltaTable(lake).to_pyarrow_table(columns=columns)
    else:
        catalog = open_catalog(TableAddress(path=lake, format=kind, name=NAME))
        found = catalog.load_table(NAME).scan(selected_fields=tuple(columns)).to_arrow()
    return sorted(tuple(row[name] for name in columns) for row in found.to_pylist())


@pytest.mark.parametrize("kind", ("parquet", "delta", "iceberg"))
def test_repeated_exports_add_each_record_to_the_table_once(
    spark: "SparkSession", tmp_path: Path, kind: str
) -> None:
    how = {"format": kind} | ({"table": NAME} if kind == "iceberg" else {})
    path = _logs(tmp_path)
    _export(spark, tmp_path, path, commitBytes="1", fileBytes="1", **how)
    _logs(tmp_path, v2(20, 22))

    again = _export(spark, tmp_path, path, **how)
    idle = _export(spark, tmp_path, path, **how)

    assert (again.records, idle.records) == (3, 0)
    assert idle.state.exported == {ORDERS: ExportedOffsets(0, 23, 19)}
    found = _rows(spark, kind, str(tmp_path / "lake"))
    assert found == [("orders", 0, offset) for offset in [*OFFSETS, 20, 21, 22]]


def test_exported_rows_equal_those_of_the_source(spark: "SparkSession", tmp_path: Path) -> None:
    path, options = _logs(tmp_path), {"includeHeaders": "true"}

    _export(spark, tmp_path, path, partitionBy="date", **options)

    options["isolation.level"] = "read_committed"
    read = spark.read.format("cordwood").options(**options).load(path)
    exported = spark.read.parquet(str(tmp_path / "lake")).select(*read.columns)
    assert sorted(exported.collect()) == sorted(read.collect())


def test_export_that_would_skip_offsets_is_rejected(spark: "SparkSession", tmp_path: Path) -> None:
    path = _logs(tmp_path)
    _export(spark, tmp_path, path, format="delta", endingOffsets='{"orders": {"0": 5}}')

    with pytest.raises(TableError, match="offsets 5 to 6 of orders-0 would be missing"):
        _export(spark, tmp_path, path, format="delta", startingOffsets='{"orders": {"0": 7}}')


def test_offsets_deleted_by_retention_are_lost_only_with_gap_record(
    spark: "SparkSession", tmp_path: Path
) -> None:
    path = _logs(tmp_path)
    _export(spark, tmp_path, path, endingOffsets='{"orders": {"0": 5}}')
    segment = tmp_path / "logs" / "orders-0" / f"{0:020}.log"
    segment.write_bytes(v2(8, 9))
    segment.rename(segment.with_name(f"{8:020}.log"))

    with pytest.raises(TableError, match="lacks offsets 5 to 7 of orders-0, which were deleted"):
        _export(spark, tmp_path, path)
    done = _export(spark, tmp_path, path, gap="record")

    assert done.state.exported == {ORDERS: ExportedOffsets(0, 10, 7, ((5, 8),))}


def test_topic_of_a_broker_is_exported_and_audited(spark: "SparkSession", tmp_path: Path) -> None:
    with cordwood.Broker(tmp_path / "logs", config={"num.partitions": 1}) as broker:
        with cordwood.Producer(broker.address) as producer:
            for number in range(30):
                producer.send("orders", b"%d" % number)
        options = {"kafka.bootstrap.servers": broker.address, "subscribe": "orders"}

        done = jobs.export(spark, str(tmp_path / "lake"), options=options)
        found = jobs.audit(spark, str(tmp_path / "lake"), options=options)

    assert done.state.exported == {ORDERS: ExportedOffsets(0, 30, 30)}
    assert (found.is_whole, found.partitions[0].compared.proven) == (True, 30)
