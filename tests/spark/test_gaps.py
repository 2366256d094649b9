"""Policies for deleted offsets in a session: fail, record, refill."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

FROM_ZERO = '{"orders": {"0": 0}}'


def _log(folder: Path, first: int, last: int) -> str:
    (folder / "orders-0").mkdir(parents=True)
    (folder / "orders-0" / name(first)).write_bytes(v2(first, last))
    return str(folder)


def _offsets(spark: "SparkSession", path: str, **options: str) -> list[int]:
    given = {"startingOffsets": FROM_ZERO, "columns": "offset", **options}
    frame = spark.read.format("cordwood").options(**given).load(path)
    return sorted(row.offset for row in frame.collect())


def test_missing_offsets_fail_a_job_and_are_named(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no source has offsets 0 to 2 of orders-0"):
        _offsets(spark, _log(tmp_path, 3, 5))


def test_missing_offsets_are_rows_of_a_table(spark: "SparkSession", tmp_path: Path) -> None:
    gaps = {"failOnDataLoss": "false", "gapTable": str(tmp_path / "gaps")}

    assert _offsets(spark, _log(tmp_path / "logs", 3, 5), **gaps) == [3, 4, 5]

    (row,) = spark.read.parquet(gaps["gapTable"]).collect()
    assert (row.topic, row.partition, row.first_offset, row.end_offset) == ("orders", 0, 0, 3)


def test_missing_offsets_are_read_from_the_refill_path(
    spark: "SparkSession", tmp_path: Path
) -> None:
    archive = _log(tmp_path / "archive", 0, 4)

    found = _offsets(spark, _log(tmp_path / "logs", 3, 5), refillPath=archive)

    assert found == [0, 1, 2, 3, 4, 5]
