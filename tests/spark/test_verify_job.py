"""`cordwood spark verify` prints the same report as `cordwood log verify`."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.test_workbench_page import build_logs
from tests.unit.cli.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(
    "words",
    (
        ("logs",),
        ("logs/orders-1", "logs", "--json"),
        (f"logs/orders-1/{10:020}.log",),
        ("logs/orders-1", "logs/nothing"),
    ),
)
def test_job_prints_the_same_report_as_the_workbench(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    build_logs(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)

    expected = run(("log", "verify", *words), monkeypatch, capfd)
    by_spark = run(("spark", "verify", *words), monkeypatch, capfd)

    assert (by_spark.code, by_spark.out) == (expected.code, expected.out)
    assert spark.getActiveSession() is spark
