"""Killed exports leave each offset in the table once after another run."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.table_export.export_job import export_log, open_table
from cordwood.spark.jobs.table_export.export_options import ExportOptions, parse_export_options
from cordwood.spark.jobs.tables.table_ledger import ExportedOffsets, TableState
from tests.spark.kills import KILLS, KillableFiles, survive
from tests.unit.spark.jobs.export_samples import ORDERS, write_log
from tests.unit.storage.segment_samples import marker, produced, v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(1200)

END = 44


def begin(world: Path) -> None:
    aborted = produced(10, 12, producer_id=1) + marker(13, producer_id=1, is_commit=False)
    write_log(world / "logs", v2(0, 9), aborted, v2(14, 29))
    write_log(world / "logs", v2(0, 4), v2(5, END - 1), partition="orders-1")


def order(world: Path, kind: str) -> ExportOptions:
    named = {"table": "logs.orders"} if kind == "iceberg" else {}
    where = {"to": str(world / "lake"), "path": str(world / "logs"), "format": kind}
    small = {"commitBytes": "1", "fileBytes": "1", "maxRecordsPerPartition": "22"}
    return parse_export_options(where | named | small | {"partitionBy": "partition"})


def job(spark: "SparkSession", kind: str) -> Callable[[Path, KillableFiles], object]:
    return lambda world, files: export_log(spark, order(world, kind), files=files)


def look(world: Path, *, kind: str) -> tuple[TableState | None, list[tuple[int, int]]]:
    """Return the state of the table, and the rows that readers see."""
    table = open_table(order(world, kind).address, SystemFiles())
    rows = [
        (row["partition"], row["offset"])
        for piece in table.pieces()
        for batch in piece.batches(("partition", "offset"))
        for row in batch.to_pylist()
    ]
    return table.state(), sorted(rows)


@pytest.mark.parametrize("kind", ("parquet", "delta", "iceberg"))
def test_killed_exports_write_the_same_table(
    spark: "SparkSession", tmp_path: Path, report: Callable[[str], None], kind: str
) -> None:
    seen, name = partial(look, kind=kind), f"export to {kind}"

    kills = survive(job(spark, kind), begin, look=seen, folder=tmp_path, kills=KILLS[name])

    report(f"{name}: {kills}")
    standing, rows = look(tmp_path / "undisturbed", kind=kind)
    assert standing is not None
    assert standing.exported[ORDERS] == ExportedOffsets(0, 30, 26)
    assert rows == [
        *((0, at) for at in [*range(10), *range(14, 30)]),
        *((1, at) for at in range(END)),
    ]
