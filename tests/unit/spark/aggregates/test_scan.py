"""Scans: results that tasks compute."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
import pyarrow.compute as pc

import cordwood.spark
from cordwood.core.errors import SettingError
from cordwood.core.system import SystemFiles
from cordwood.workbench.stat import stat
from tests.unit.storage import log_samples
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import marker, produced, v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

SUMS = "records long, sum long, names string"


def summed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the number of offsets, their sum, and the columns of the batches."""
    offsets, names = [], set[str]()
    for batch in batches:
        names |= set(batch.schema.names)
        offsets += batch.column("offset").to_pylist()
    yield pa.record_batch(
        {
            "records": pa.array([len(offsets)], pa.int64()),
            "sum": pa.array([sum(offsets)], pa.int64()),
            "names": pa.array([",".join(sorted(names))]),
        }
    )


def _logs(folder: Path, **partitions: bytes) -> str:
    for partition, data in partitions.items():
        directory = folder / partition.replace("_", "-")
        directory.mkdir()
        (directory / name(0)).write_bytes(data)
    return str(folder)


def test_scan_counts_all_partitions(spark: "SparkSession", tmp_path: Path) -> None:
    path = _logs(tmp_path, orders_0=v2(0, 6) + v2(7), orders_1=v2(0, 2), other_0=v2(0))

    scan = cordwood.spark.scan(spark, path, subscribe="orders")

    assert scan.count() == 11
    assert len(scan.splits) == 2


def test_scan_counts_committed_records(spark: "SparkSession", tmp_path: Path) -> None:
    log = v2(0) + produced(1, 2, producer_id=1) + marker(3, producer_id=1, is_commit=False) + v2(4)
    path = _logs(tmp_path, orders_0=log)

    isolation = {"isolation.level": "read_committed"}

    assert cordwood.spark.scan(spark, path).count() == 4
    assert cordwood.spark.scan(spark, path, **isolation).count() == 2


def test_scan_of_an_empty_log_counts_zero(spark: "SparkSession", tmp_path: Path) -> None:
    scan = cordwood.spark.scan(spark, _logs(tmp_path, orders_0=b""))

    assert scan.splits == ()
    assert scan.count() == 0


def test_function_is_called_once_a_task_with_its_columns(
    spark: "SparkSession", tmp_path: Path
) -> None:
    path = _logs(tmp_path, orders_0=v2(0, 9))
    scan = cordwood.spark.scan(spark, path, maxRecordsPerPartition="1")

    frame = scan.map_arrow(summed, SUMS, columns=["offset"])
    rows = frame.collect()

    assert sum(row["records"] for row in rows) == 10
    assert sum(row["sum"] for row in rows) == sum(range(10))
    assert {row["names"] for row in rows} == {"offset"}
    assert len(rows) == 2 < len(scan.splits)


def test_cores_have_more_tasks_if_there_is_much_to_read(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cordwood.spark.aggregates.scan.BYTES_A_CORE", 1)
    path = _logs(tmp_path, orders_0=v2(0, 9))
    scan = cordwood.spark.scan(spark, path, maxRecordsPerPartition="1")

    rows = scan.map_arrow(summed, SUMS, columns=["offset"]).collect()

    assert len(rows) == 4 < len(scan.splits)


def test_function_receives_all_columns_by_default(spark: "SparkSession", tmp_path: Path) -> None:
    scan = cordwood.spark.scan(spark, _logs(tmp_path, orders_0=v2(0)), includeHeaders="true")

    (row,) = scan.map_arrow(summed, SUMS).collect()

    assert row["names"] == "headers,key,offset,partition,timestamp,timestampType,topic,value"


def test_unknown_columns_are_rejected(spark: "SparkSession", tmp_path: Path) -> None:
    scan = cordwood.spark.scan(spark, _logs(tmp_path, orders_0=v2(0)))

    with pytest.raises(SettingError, match="unknown column: 'keys'"):
        scan.map_arrow(summed, SUMS, columns=["keys"])


def test_scan_has_at_least_min_partitions_tasks(spark: "SparkSession", tmp_path: Path) -> None:
    path = _logs(tmp_path, orders_0=v2(0, 9))
    scan = cordwood.spark.scan(spark, path, maxRecordsPerPartition="1", minPartitions="7")

    assert len(scan.map_arrow(summed, SUMS, columns=["offset"]).collect()) == 7


def test_binary_columns_work_with_arrow_functions(spark: "SparkSession", tmp_path: Path) -> None:
    def longest(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            most = pc.max(pc.binary_length(batch.column("value")))
            yield pa.record_batch({"most": pa.array([most.as_py()], pa.int32())})

    scan = cordwood.spark.scan(spark, _logs(tmp_path, orders_0=v2(0, size=1000)))

    (row,) = scan.map_arrow(longest, "most int", columns=["value"]).collect()

    assert row["most"] == 1000 - 66 - 4


def test_statistics_equal_those_of_the_directories(spark: "SparkSession", tmp_path: Path) -> None:
    path = _logs(tmp_path, orders_0=v2(0, 9) + v2(10), orders_1=v2(0) + v2(1))
    scan = cordwood.spark.scan(spark, path, maxRecordsPerPartition="3")

    assert scan.stat(deep=True) == stat(SystemFiles(), [path], is_deep=True)


def test_histogram_has_the_records_of_all_tasks(spark: "SparkSession", tmp_path: Path) -> None:
    path = _logs(tmp_path, orders_0=v2(0, 9) + v2(10, timestamp=5_000), orders_1=v2(0))

    found = cordwood.spark.scan(spark, path).time_histogram(timedelta(seconds=2))

    assert found.to_pylist() == [
        {"timestamp": datetime(1970, 1, 1, tzinfo=UTC), "count": 11},
        {"timestamp": datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC), "count": 1},
    ]


def test_keys_of_all_tasks_are_counted_together(spark: "SparkSession", tmp_path: Path) -> None:
    keyed = bytes(log_samples.batch(3))
    path = _logs(tmp_path, orders_0=keyed, orders_1=keyed, orders_2=v2(0))

    assert cordwood.spark.scan(spark, path).key_cardinality().keys == 1
