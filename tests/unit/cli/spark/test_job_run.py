"""Session and progress display of the Spark commands."""

import io
import sys

import pytest

from cordwood.cli.spark.job_run import ProgressLines, job_progress, job_session
from cordwood.core.errors import SparkError
from tests.unit.cli.test_progress import Terminal


def test_command_without_spark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cordwood.spark.runtime.session", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)

    with pytest.raises(SparkError, match="pip install 'pyspark"), job_session("verify"):
        pass


def test_progress_is_a_bar_for_each_phase_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())

    with job_progress() as display:
        display.begin("survey", 10)
        display.advance(10)
        display.begin("rewrite", 20)

    assert isinstance(sys.stderr, io.StringIO)
    assert "survey" in (shown := sys.stderr.getvalue())
    assert "rewrite" in shown


def test_progress_is_lines_elsewhere() -> None:
    with job_progress() as display:
        assert isinstance(display, ProgressLines)


def test_progress_can_be_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    with job_progress(is_shown=False) as display:
        display.begin("verify", 10)
        display.advance(10)

    assert capsys.readouterr() == ("", "")


def test_line_is_printed_for_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines()
    lines.begin("verify", 2_000)

    for size in (100, 100, 10, 500):
        lines.advance(size)

    assert capsys.readouterr().err.splitlines() == [
        "verify: 200 of 2,000 bytes",
        "verify: 710 of 2,000 bytes",
    ]


def test_phase_without_bytes_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines()
    lines.begin("verify", 0)

    lines.advance(0)

    assert capsys.readouterr().err == "verify: 0 of 0 bytes\n"
