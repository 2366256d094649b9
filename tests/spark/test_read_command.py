"""`cordwood spark read` prints what is in a log."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.test_workbench_page import build_logs
from tests.unit.cli.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.timeout(600)


def test_read_prints_all_there_is(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    build_logs(tmp_path)
    words = ("spark", "read", str(tmp_path / "orders-0"))

    printed = run((*words, "--json"), monkeypatch, capfd).out
    counted = run((*words, "--count"), monkeypatch, capfd).out

    assert spark.getActiveSession() is spark
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [row["offset"] for row in rows] == list(range(21))
    assert rows[0]["value"] == "5 boards"
    assert counted == "21\n"
