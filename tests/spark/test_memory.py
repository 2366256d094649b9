"""However large a log is, a task takes the memory of what it has in its hands."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.spark.large_logs import real_log, sparse_log
from tests.spark.workers import forget_peaks, peak_bytes, workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

MIB: Final = 1 << 20
GIB: Final = 1 << 30
MOST: Final = 300 * MIB
#: Values are moved through the JVM, which takes its time.
MOVED: Final = 10 * GIB if os.environ.get("CORDWOOD_SOAK") else GIB // 2

Report = Callable[[str], None]


def peak_of(spark: "SparkSession", path: Path, columns: str) -> tuple[int, int]:
    """Read these columns; return how many records there are, and the most that a worker took."""
    frame = spark.read.format("cordwood").option("columns", columns).load(str(path))
    forget_peaks(workers(spark))
    found = frame.selectExpr(*(f"count({each})" for each in columns.split(","))).first()
    assert found is not None
    return min(found), max(map(peak_bytes, workers(spark)))


@pytest.mark.parametrize(("columns", "size"), (("offset", 10 * GIB), ("offset,value", MOVED)))
def test_memory_of_a_task_is_bounded_when_records_are_large(
    spark: "SparkSession", tmp_path: Path, report: Report, columns: str, size: int
) -> None:
    count = sparse_log(tmp_path / "large-0", size)

    found, peak = peak_of(spark, tmp_path, columns)

    report(f"a task that reads {columns} of {size / GIB} GiB, sparse: {peak // MIB} MiB")
    assert found == count
    assert peak < MOST


def test_memory_of_a_task_is_bounded_when_records_are_many(
    spark: "SparkSession", tmp_path: Path, report: Report
) -> None:
    count = real_log(tmp_path / "large-0", MOVED)

    found, peak = peak_of(spark, tmp_path, "offset,value")

    report(f"a task that reads offset,value of {MOVED / GIB} GiB of 100 B: {peak // MIB} MiB")
    assert found == count
    assert peak < MOST
