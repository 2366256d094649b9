"""`cordwood spark read` prints the records of a log."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.test_workbench_page import build_logs
from tests.unit.cli.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.timeout(600)


def test_read_prints_all_records(
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


def test_error_names_the_unreadable_file(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    build_logs(tmp_path)
    log = next((tmp_path / "orders-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:80] + b"damage" + log.read_bytes()[86:])

    nowhere = run(("spark", "read", str(tmp_path / "nowhere")), monkeypatch, capfd)
    unknown = run(("spark", "read", str(tmp_path), "--option", "gaps=fail"), monkeypatch, capfd)
    damaged = run(("spark", "read", str(tmp_path / "orders-0")), monkeypatch, capfd)

    assert spark.getActiveSession() is spark
    assert (nowhere.code, unknown.code, damaged.code) == (3, 2, 1)
    assert f"cordwood: {tmp_path}/nowhere: does not exist" in nowhere.err
    assert "cordwood: unknown option: gaps; did you mean gap?" in unknown.err
    assert f"cordwood: {log}: the checksum is wrong" in damaged.err
    assert "Traceback" not in nowhere.err + unknown.err
