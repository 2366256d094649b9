"""The benchmark of the exactly-once sink runs, small, so that it cannot rot."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

pytestmark = pytest.mark.timeout(600)


def test_exactly_once_is_measured_when_small() -> None:
    """It has a session of its own, so it is a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.spark.exactly_once", "--tiny"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-4_000:]
    assert [line.partition(":")[0] for line in run.stdout.splitlines()] == [
        "Spark writes exactly once, 100 B",
        "a micro-batch of 50 rows, exactly once",
    ]
