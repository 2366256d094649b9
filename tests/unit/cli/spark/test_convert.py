"""`cordwood spark convert` as it is called; `tests/spark` runs it."""

from pathlib import Path

import pytest

from cordwood.cli.spark import convert
from cordwood.spark import jobs
from cordwood.workbench.convert import ConvertReport
from tests.unit.cli.commands import run
from tests.unit.cli.spark.test_verify import without_spark

REPORT = ConvertReport(path="/new", partitions=("t-0",), segments=2, size_before=2_000, size=900)


def test_convert_says_what_was_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: list[dict[str, object]] = []

    def converted(*_said: object, **given: object) -> ConvertReport:
        asked.append(given)
        return REPORT

    monkeypatch.setattr(convert, "running", without_spark)
    monkeypatch.setattr(jobs, "convert", converted)
    out = str(tmp_path / "new")

    said = run(("spark", "convert", "logs", "--out", out, "--codec", "zstd"), monkeypatch, capfd)

    assert (said.code, said.out) == (0, "/new: t-0: 2 segments, 2,000 bytes are 900 now\n")
    assert (asked[0]["out"], asked[0]["codec"], asked[0]["message_format"]) == (out, "zstd", "v2")


def test_convert_knows_its_formats(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("spark", "convert", "logs", "--out", "new", "--format", "v0")

    said = run(words, monkeypatch, capfd)

    assert (said.code, "'v0' is not one of" in said.err) == (2, True)
