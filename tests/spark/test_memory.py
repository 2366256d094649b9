"""Memory of tasks: bounded by what a task holds at a time, for any size of the log.

Most logs are sparse: their values are unallocated parts of a file, and cost a reader as much as
others. Logs with many small records are real, and so are logs to compact, whose keys fill the
memory limit of a task.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

import cordwood
import cordwood.spark
from benchmarks.compacted import CONFIG, placed
from benchmarks.keyed_log import KeyedLog
from cordwood.spark import jobs
from cordwood.spark.jobs.compaction.compact_order import WHOLE_BYTES, CompactJobOrder
from tests.spark.large_logs import real_log, sparse_log
from tests.spark.workers import peak_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.timeout(1800)

MIB: Final = 1 << 20
GIB: Final = 1 << 30
MOST: Final = 300 * MIB
IS_SOAK: Final = bool(os.environ.get("CORDWOOD_SOAK"))
LARGE: Final = 10 * GIB
#: Smaller size for work that writes to disk or moves rows through the JVM.
MOVED: Final = LARGE if IS_SOAK else GIB // 2
KEYED_LOGS, KEYED_RECORDS = (5, 15_000_000) if IS_SOAK else (1, 4_000_000)

Report = Callable[[str], None]


class Case(NamedTuple):
    """A session, a log directory, and a folder for output."""

    spark: "SparkSession"
    logs: str
    room: Path


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder that is removed at the end of the test."""
    folder = tmp_path / "room"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def reads_offsets(case: Case) -> int:
    return _read(case, "offset")


def reads_values(case: Case) -> int:
    return _read(case, "offset,value")


def maps(case: Case) -> int:
    """Run a function over all columns; creating arrays of Python values would load pandas."""
    return cordwood.spark.scan(case.spark, case.logs).map_arrow(_offsets, "offset long").count()


def exports(case: Case) -> int:
    options = {"path": case.logs, "partitionBy": "hour"}
    lake = str(case.room / "lake")
    exported = jobs.export(case.spark, lake, options=options).records
    assert jobs.audit(case.spark, lake, options={"path": case.logs}).is_whole
    return exported


def verifies(case: Case) -> int:
    found = jobs.verify(case.spark, [case.logs])
    assert not found.is_damaged
    return sum(each.records for each in found.partitions)


def converts(case: Case) -> int:
    jobs.convert(case.spark, [case.logs], out=str(case.room / "converted"), codec="lz4")
    return cordwood.spark.scan(case.spark, str(case.room / "converted")).count()


def writes(case: Case) -> int:
    """Write rows; not used for large records, because Spark passes batches of 64 MB to a task."""
    with cordwood.Broker(case.room / "broker") as broker:
        to = {"kafka.bootstrap.servers": broker.address, "topic": "copies"}
        _frame(case, "value").write.format("cordwood").mode("append").options(**to).save()
        return cordwood.spark.scan(case.spark, str(case.room / "broker")).count()


@pytest.mark.parametrize(
    ("does", "size"),
    (
        (reads_offsets, LARGE),
        (reads_values, MOVED),
        (maps, LARGE),
        (exports, LARGE),
        (verifies, LARGE),
        (converts, MOVED),
    ),
)
def test_memory_of_a_task_is_bounded_when_records_are_large(
    spark: "SparkSession", room: Path, report: Report, does: Callable[[Case], int], size: int
) -> None:
    count = sparse_log(room / "logs" / "large-0", size)

    done, peak = peak_in(spark, lambda: does(Case(spark, str(room / "logs"), room)))

    report(f"a task that {does.__name__} of {size / GIB} GiB, sparse: {peak // MIB} MiB")
    assert done == count
    assert peak < MOST


@pytest.mark.parametrize(
    "does", (reads_offsets, reads_values, maps, exports, verifies, converts, writes)
)
def test_memory_of_a_task_is_bounded_when_records_are_many(
    spark: "SparkSession", room: Path, report: Report, does: Callable[[Case], int]
) -> None:
    count = real_log(room / "logs" / "large-0", MOVED)

    done, peak = peak_in(spark, lambda: does(Case(spark, str(room / "logs"), room)))

    report(f"a task that {does.__name__} of {MOVED / GIB} GiB of 100 B: {peak // MIB} MiB")
    assert done == count
    assert peak < MOST


@pytest.mark.parametrize(("whole_bytes", "how"), ((WHOLE_BYTES, "whole"), (0, "distributed")))
def test_memory_of_a_task_is_bounded_when_keys_are_many(
    spark: "SparkSession", room: Path, report: Report, whole_bytes: int, how: str
) -> None:
    place = placed(room, KeyedLog(KEYED_RECORDS, KEYED_RECORDS))
    logs = [str(place.linked(room / str(number))) for number in range(KEYED_LOGS)]
    order = CompactJobOrder(whole_bytes=whole_bytes)

    done, peak = peak_in(spark, lambda: jobs.compact(spark, logs, order=order, config=CONFIG))

    words = f"{len(logs)} logs of {place.size / GIB:.1f} GiB, {how}"
    report(f"a task that compacts {words}: {peak // MIB} MiB")
    assert not done.failures
    assert all(each.certificate is not None for each in done.reports)
    assert peak < MOST


def _read(case: Case, columns: str) -> int:
    counts = (f"count({each})" for each in columns.split(","))
    found = _frame(case, columns).selectExpr(*counts).first()
    assert found is not None
    return int(min(found))


def _frame(case: Case, columns: str) -> "DataFrame":
    return case.spark.read.format("cordwood").option("columns", columns).load(case.logs)


def _offsets(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    for batch in batches:
        yield batch.select(["offset"])
