"""What commands of Spark's share: who is told of their progress, and what is said without Spark."""

import io
import sys

import pytest

from cordwood.cli.spark.running import Lines, progress, running
from cordwood.core.errors import SparkError
from tests.unit.cli.test_progress import Terminal


def test_command_without_spark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cordwood.spark.session", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)

    with pytest.raises(SparkError, match=r"pip install 'cordwood\[spark\]'"), running("verify"):
        pass


def test_progress_is_a_bar_a_part_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())

    with progress() as told:
        told.begin("survey", 10)
        told.advance(10)
        told.begin("rewrite", 20)

    assert isinstance(sys.stderr, io.StringIO)
    assert "survey" in (shown := sys.stderr.getvalue())
    assert "rewrite" in shown


def test_progress_is_lines_elsewhere() -> None:
    with progress() as told:
        assert isinstance(told, Lines)


def test_progress_is_not_shown_among_data(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(is_shown=False) as told:
        told.begin("verify", 10)
        told.advance(10)

    assert capsys.readouterr() == ("", "")


def test_lines_come_for_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.begin("verify", 2_000)

    for size in (100, 100, 10, 500):
        lines.advance(size)

    assert capsys.readouterr().err.splitlines() == [
        "verify: 200 of 2,000 bytes",
        "verify: 710 of 2,000 bytes",
    ]


def test_lines_know_of_parts_without_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.begin("verify", 0)

    lines.advance(0)

    assert capsys.readouterr().err == "verify: 0 of 0 bytes\n"
